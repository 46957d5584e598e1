// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IGovernor} from "@openzeppelin/contracts/governance/IGovernor.sol";

import {ExperienceRegistry} from "../src/ExperienceRegistry.sol";
import {GymGovernor} from "../src/GymGovernor.sol";
import {GymStaking} from "../src/GymStaking.sol";
import {GymToken} from "../src/GymToken.sol";

/// What of forge's cheat codes is used.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function prank(address sender) external;
    function warp(uint256 timestamp) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
}

Vm constant VM = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

/// Everything that stakers, proposers, the guardian and strangers can try, with what they should then find.
/// Each call notes what it saw; `Invariants` compares the notes with the contracts. A refused call is part of the game.
contract Actors {
    uint256 private constant GYM = 1e18;
    uint256 private constant PEOPLE = 6;
    uint256 private constant DIGESTS = 12;

    GymToken public immutable token;
    GymStaking public immutable staking;
    GymGovernor public immutable governor;
    ExperienceRegistry public immutable registry;

    uint256[] public proposals;
    mapping(uint256 proposal => uint256) public weighed;
    mapping(uint256 proposal => mapping(address voter => bool)) public voted;
    bool public weightBroken;

    uint256 public version;
    bool public versionBroken;

    bytes32[] public replayed;
    bytes32 public historyHash;

    bool public writtenByOthers;
    uint256[4] public happened;

    constructor() {
        token = new GymToken(1_000_000 * GYM);
        staking = new GymStaking(token);
        GymGovernor.Settings memory settings = GymGovernor.Settings({
            threshold: 10 * GYM,
            bond: GYM,
            quorumPercent: 10,
            treasury: address(0xbeef),
            guardian: guardian(),
            guardianUntil: uint48(block.timestamp + 300 days)
        });
        governor = new GymGovernor(staking, settings);
        registry = governor.registry();
        historyHash = registry.historyHash();
        for (uint256 i = 0; i < PEOPLE; ++i) {
            require(token.transfer(person(i), 1000 * GYM));
            VM.prank(person(i));
            token.approve(address(staking), type(uint256).max);
            VM.prank(person(i));
            token.approve(address(governor), type(uint256).max);
            VM.prank(person(i));
            staking.stake((100 + 50 * i) * GYM);
        }
        VM.warp(block.timestamp + 1);
    }

    // what people do

    function stake(uint256 who, uint256 amount) external {
        VM.prank(person(who));
        try staking.stake(amount % (200 * GYM)) {} catch {}
    }

    function exit(uint256 who, uint256 amount) external {
        VM.prank(person(who));
        try staking.requestExit(amount % (200 * GYM)) {} catch {}
    }

    function withdraw(uint256 who) external {
        VM.prank(person(who));
        try staking.withdraw() {} catch {}
    }

    function delegate(uint256 who, uint256 to) external {
        VM.prank(person(who));
        staking.delegate(person(to));
    }

    function propose(uint256 who, uint256 what) external {
        string memory cid = registry.cidOf(digest(what));
        VM.prank(person(who));
        try governor.proposeExperience(cid, digest(what)) returns (uint256 id) {
            proposals.push(id);
        } catch {}
    }

    function proposeRemoval(uint256 who, uint256 what) external {
        VM.prank(person(who));
        try governor.proposeRemoval(digest(what), "") returns (uint256 id) {
            proposals.push(id);
        } catch {}
    }

    function proposeReplacement(uint256 who, uint256 old, uint256 what) external {
        VM.prank(person(who));
        try governor.proposeReplacement(digest(old), digest(what), "") returns (uint256 id) {
            proposals.push(id);
        } catch {}
    }

    /// `members`: a bit for each digest; those in the library are proposed for removal, the others for addition.
    function proposeBatch(uint256 who, uint256 members) external {
        bytes32[] memory added = new bytes32[](DIGESTS);
        bytes32[] memory removed = new bytes32[](DIGESTS);
        (uint256 adds, uint256 removes) = (0, 0);
        for (uint256 i = 0; i < DIGESTS; ++i) {
            if ((members >> i) & 1 == 0) continue;
            if (registry.isAccepted(digest(i))) removed[removes++] = digest(i);
            else added[adds++] = digest(i);
        }
        assembly ("memory-safe") {
            mstore(added, adds)
            mstore(removed, removes)
        }
        VM.prank(person(who));
        try governor.proposeBatch(added, removed, "") returns (uint256 id) {
            proposals.push(id);
        } catch {}
    }

    function vote(uint256 who, uint256 which, uint8 support) public {
        if (proposals.length == 0) return;
        (address voter, uint256 id) = (person(who), proposals[which % proposals.length]);
        VM.prank(voter);
        try governor.castVote(id, support % 3) returns (uint256 weight) {
            uint256 opened = governor.proposalSnapshot(id);
            if (voted[id][voter] || weight != staking.getPastVotes(voter, opened)) weightBroken = true;
            voted[id][voter] = true;
            weighed[id] += weight;
        } catch {}
    }

    function finalize(uint256 which) public {
        if (proposals.length == 0) return;
        uint256 id = proposals[which % proposals.length];
        VM.recordLogs();
        try governor.finalizeProposal(id) {
            ++happened[0];
        } catch {}
        _replay(governor.state(id) == IGovernor.ProposalState.Executed);
    }

    function wait(uint256 how) external {
        uint256[4] memory times = [uint256(1 hours), 1 days, 3 days + 1, 5 days + 1];
        VM.warp(block.timestamp + times[how % 4]);
    }

    /// The rest of a proposal's life in one call, so that many come to their end; `votes`: a bit for each person.
    function decide(uint256 which, uint256 votes) external {
        if (proposals.length == 0) return;
        which = which % proposals.length;
        uint256 opened = governor.proposalSnapshot(proposals[which]);
        if (block.timestamp <= opened) VM.warp(opened + 1);
        for (uint256 i = 0; i < PEOPLE; ++i) {
            vote(i, which, uint8((votes >> i) & 1));
        }
        uint256 ends = governor.proposalDeadline(proposals[which]);
        if (block.timestamp <= ends) VM.warp(ends + 1);
        finalize(which);
    }

    function disable(uint256 who, uint256 what) external {
        address caller = who % 4 == 0 ? guardian() : person(who);
        VM.recordLogs();
        VM.prank(caller);
        try registry.disable(digest(what)) {
            ++happened[1];
            _replay(caller == guardian());
        } catch {
            _replay(false);
        }
    }

    function reinstate(uint256 who, uint256 what) external {
        VM.recordLogs();
        VM.prank(person(who));
        try registry.reinstate(digest(what)) {
            ++happened[2];
        } catch {}
        _replay(true);
    }

    /// Anyone but the governor writes, by every function that writes.
    function write(uint256 who, uint256 what, uint256 how) external {
        address caller = who % 3 == 0 ? guardian() : who % 3 == 1 ? address(staking) : person(who);
        ExperienceRegistry.Terms memory terms =
            ExperienceRegistry.Terms(caller, uint48(block.timestamp), uint48(block.timestamp + 1));
        bytes32[] memory list = new bytes32[](1);
        list[0] = digest(what);
        bytes[5] memory calls = [
            abi.encodeCall(registry.add, (digest(what), terms)),
            abi.encodeCall(registry.remove, (digest(what), terms)),
            abi.encodeCall(registry.replace, (digest(what), digest(what % DIGESTS + 1), terms)),
            abi.encodeCall(registry.applyBatch, (list, new bytes32[](0), terms)),
            abi.encodeCall(registry.appointGuardian, (caller, uint48(block.timestamp), terms))
        ];
        VM.recordLogs();
        VM.prank(caller);
        (bool done,) = address(registry).call(calls[how % 5]);
        if (done) writtenByOthers = true;
        _replay(false);
    }

    // what is compared

    function proposalCount() external view returns (uint256) {
        return proposals.length;
    }

    function library_() external view returns (bytes32[] memory) {
        return replayed;
    }

    function people() external pure returns (uint256) {
        return PEOPLE;
    }

    function person(uint256 who) public pure returns (address) {
        return address(uint160(0x1000 + who % PEOPLE));
    }

    function guardian() public pure returns (address) {
        return address(0x9999);
    }

    function digest(uint256 what) public pure returns (bytes32) {
        return bytes32(1 + (what % DIGESTS) * 7);
    }

    /// The mirror of the registry, from events alone. `allowed`: whether this call may have changed anything.
    function _replay(bool allowed) private {
        Vm.Log[] memory logs = VM.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter != address(registry)) continue;
            if (logs[i].topics[0] != ExperienceRegistry.LibraryChanged.selector) continue;
            if (!allowed) writtenByOthers = true;
            if (uint256(logs[i].topics[1]) != ++version) versionBroken = true;
            _change(logs[i].data);
            ++happened[3];
        }
        if (registry.version() != version) versionBroken = true;
    }

    function _change(bytes memory told) private {
        (ExperienceRegistry.Cause cause, bytes32[] memory added, bytes32[] memory removed, bytes32 root,) =
            abi.decode(told, (ExperienceRegistry.Cause, bytes32[], bytes32[], bytes32, bytes32));
        for (uint256 i = 0; i < removed.length; ++i) {
            _drop(removed[i]);
        }
        for (uint256 i = 0; i < added.length; ++i) {
            replayed.push(added[i]);
        }
        historyHash = keccak256(abi.encode(historyHash, version, cause, added, removed, root));
    }

    function _drop(bytes32 gone) private {
        for (uint256 i = 0; i < replayed.length; ++i) {
            if (replayed[i] != gone) continue;
            replayed[i] = replayed[replayed.length - 1];
            replayed.pop();
            return;
        }
    }
}
