// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Hashes} from "@openzeppelin/contracts/utils/cryptography/Hashes.sol";

import {MerkleSet} from "../src/MerkleSet.sol";
import {Actors} from "./Actors.sol";

/// What must hold after every call of every sequence that forge makes up from the functions of `Actors`.
contract InvariantsTest {
    Actors private actors;

    function setUp() external {
        actors = new Actors();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(actors);
    }

    /// Every vote weighs what its voter had when the vote opened, once; together no more than there was.
    function invariant_oneWeightPerSnapshot() external view {
        require(!actors.weightBroken(), "a vote weighed something else than its snapshot, or counted twice");
        for (uint256 i = 0; i < actors.proposalCount(); ++i) {
            uint256 id = actors.proposals(i);
            (uint256 against, uint256 for_, uint256 abstain) = actors.governor().proposalVotes(id);
            require(against + for_ + abstain == actors.weighed(id), "the tally is not the sum of the votes");
            uint256 opened = actors.governor().proposalSnapshot(id);
            if (block.timestamp <= opened) continue;
            require(actors.weighed(id) <= actors.staking().getPastTotalSupply(opened), "more votes than stake");
        }
    }

    /// Versions count up by one, and nothing changes without one.
    function invariant_versionStrictlyRises() external view {
        require(!actors.versionBroken(), "a version was skipped, repeated or kept");
    }

    /// The registry holds what its events say, in their order, under their hash and the root over them.
    function invariant_activeSetIsReplayedEvents() external view {
        bytes32[] memory replayed = actors.library_();
        bytes32[] memory held = actors.registry().active(0, type(uint256).max);
        require(keccak256(abi.encode(held)) == keccak256(abi.encode(replayed)), "the active set is not the replayed one");
        require(actors.registry().historyHash() == actors.historyHash(), "the history hash is not the replayed one");
        require(actors.registry().root() == _root(replayed), "the root is not that of the active set");
    }

    /// Nobody but the governor writes; the guardian disables, and time reinstates.
    function invariant_nobodyButTheGovernorWrites() external view {
        require(!actors.writtenByOthers(), "somebody else has written");
    }

    /// Every token in the stake is somebody's, every bond in the governor a proposal's.
    function invariant_noTokenIsLost() external view {
        uint256 owed = 0;
        for (uint256 i = 0; i < actors.people(); ++i) {
            (uint208 leaving,) = actors.staking().exits(actors.person(i));
            owed += actors.staking().stakeOf(actors.person(i)) + leaving;
        }
        require(actors.token().balanceOf(address(actors.staking())) == owed, "the stake is not what is owed");
        uint256 open = 0;
        for (uint256 i = 0; i < actors.proposalCount(); ++i) {
            if (!actors.governor().motionOf(actors.proposals(i)).finalized) ++open;
        }
        uint256 bonds = actors.token().balanceOf(address(actors.governor()));
        require(bonds == open * actors.governor().bond(), "the bonds are not those of the open proposals");
    }

    function _root(bytes32[] memory level) private pure returns (bytes32) {
        uint256 width = level.length;
        if (width == 0) return bytes32(0);
        for (uint256 i = 0; i < width; ++i) {
            level[i] = MerkleSet.leaf(level[i]);
        }
        for (; width > 1; width = (width + 1) / 2) {
            for (uint256 i = 0; i < width; i += 2) {
                level[i / 2] = Hashes.commutativeKeccak256(level[i], i + 1 < width ? level[i + 1] : bytes32(0));
            }
        }
        return level[0];
    }
}
