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
/// Each call notes what it saw; `Invariants` compares the notes with the contracts. What the contracts refuse is refused
/// here too, so forge's table of calls and reverts shows how much of each was really carried out.
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
        _begin();
    }

    // what people do

    function stake(uint256 who, uint256 amount) external {
        VM.prank(person(who));
        staking.stake(amount % (200 * GYM));
    }

    function exit(uint256 who, uint256 amount) external {
        VM.prank(person(who));
        staking.requestExit(amount % (50 * GYM));
    }

    function withdraw(uint256 who) external {
        (, uint48 availableAt) = staking.exits(person(who));
        if (who % 2 == 0 && block.timestamp < availableAt) VM.warp(availableAt);
        VM.prank(person(who));
        staking.withdraw();
    }

    function delegate(uint256 who, uint256 to) external {
        VM.prank(person(who));
        staking.delegate(person(to));
    }

    function propose(uint256 who, uint256 what) external {
        bytes32 hash = _outsider(what);
        string memory cid = registry.cidOf(hash);
        VM.prank(person(who));
        proposals.push(governor.proposeExperience(cid, hash));
    }

    function proposeRemoval(uint256 who, uint256 which) external {
        bytes32 old = _member(which);
        VM.prank(person(who));
        proposals.push(governor.proposeRemoval(old, ""));
    }

    function proposeReplacement(uint256 who, uint256 which, uint256 what) external {
        (bytes32 old, bytes32 hash) = (_member(which), _outsider(what));
        VM.prank(person(who));
        proposals.push(governor.proposeReplacement(old, hash, ""));
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
        proposals.push(governor.proposeBatch(added, removed, ""));
    }

    function proposeGuardian(uint256 who, uint256 until) external {
        VM.prank(person(who));
        proposals.push(governor.proposeGuardian(guardian(), uint48(block.timestamp + 100 days + until % 200 days), ""));
    }

    /// And once more, which must not count.
    function vote(uint256 who, uint256 which, uint8 support) external {
        (address voter, uint256 id) = (person(who), _proposal(which));
        if (block.timestamp <= governor.proposalSnapshot(id)) VM.warp(governor.proposalSnapshot(id) + 1);
        _vote(voter, id, support % 3);
        VM.prank(voter);
        try governor.castVote(id, (support + 1) % 3) {
            weightBroken = true;
        } catch {}
    }

    function finalize(uint256 which) external {
        _finalize(_proposal(which));
    }

    function wait(uint256 how) external {
        uint256[4] memory times = [uint256(1 minutes), 1 hours, 1 days, 4 days];
        VM.warp(block.timestamp + times[how % 4]);
    }

    /// The rest of a proposal's life in one call, so that many come to their end; `votes`: two bits for each person.
    function decide(uint256 which, uint256 votes) external {
        uint256 id = _proposal(which);
        uint256 opened = governor.proposalSnapshot(id);
        if (block.timestamp <= opened) VM.warp(opened + 1);
        for (uint256 i = 0; i < PEOPLE; ++i) {
            bool canVote = governor.state(id) == IGovernor.ProposalState.Active && !governor.hasVoted(id, person(i))
                && staking.getPastVotes(person(i), opened) > 0;
            if (canVote) _vote(person(i), id, (votes >> (2 * i)) & 3 == 0 ? 0 : 1);
        }
        uint256 ends = governor.proposalDeadline(id);
        if (block.timestamp <= ends) VM.warp(ends + 1);
        _finalize(id);
    }

    function disable(uint256 who, uint256 which) external {
        address caller = who % 8 == 0 ? person(who) : guardian();
        bytes32 entry = _member(which);
        VM.recordLogs();
        VM.prank(caller);
        registry.disable(entry);
        _replay(caller == guardian());
    }

    function reinstate(uint256 who, uint256 what) external {
        for (uint256 i = 0; i < DIGESTS && _status(what) != ExperienceRegistry.Status.Disabled; ++i) {
            what = what % DIGESTS + 1;
        }
        uint256 until = registry.recordOf(digest(what)).disabledUntil;
        if (who % 2 == 0 && block.timestamp <= until) VM.warp(until + 1);
        VM.recordLogs();
        VM.prank(person(who));
        registry.reinstate(digest(what));
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

    function _vote(address voter, uint256 id, uint256 support) private {
        VM.prank(voter);
        uint256 weight = governor.castVote(id, uint8(support));
        if (voted[id][voter] || weight != staking.getPastVotes(voter, governor.proposalSnapshot(id))) weightBroken = true;
        voted[id][voter] = true;
        weighed[id] += weight;
    }

    function _finalize(uint256 id) private {
        VM.recordLogs();
        governor.finalizeProposal(id);
        _replay(governor.state(id) == IGovernor.ProposalState.Executed);
    }

    /// A library of half the digests, so that there is something to disable, remove and replace.
    function _begin() private {
        bytes32[] memory first = new bytes32[](DIGESTS / 2);
        for (uint256 i = 0; i < first.length; ++i) {
            first[i] = digest(i);
        }
        VM.prank(person(0));
        proposals.push(governor.proposeBatch(first, new bytes32[](0), ""));
        VM.warp(governor.proposalSnapshot(proposals[0]) + 1);
        for (uint256 i = 0; i < PEOPLE; ++i) {
            _vote(person(i), proposals[0], 1);
        }
        VM.warp(governor.proposalDeadline(proposals[0]) + 1);
        _finalize(proposals[0]);
    }

    /// A proposal that is not settled, else the last.
    function _proposal(uint256 which) private view returns (uint256) {
        uint256 count = proposals.length;
        for (uint256 i = 0; i < count; ++i) {
            uint256 id = proposals[(which % count + i) % count];
            if (!governor.motionOf(id).finalized) return id;
        }
        return proposals[count - 1];
    }

    /// Some entry of the library.
    function _member(uint256 which) private view returns (bytes32) {
        return replayed[which % replayed.length];
    }

    /// Something that is not in the library, if there is any.
    function _outsider(uint256 what) private view returns (bytes32) {
        for (uint256 i = 0; i < DIGESTS && registry.isAccepted(digest(what)); ++i) {
            what = what % DIGESTS + 1;
        }
        return digest(what);
    }

    function _status(uint256 what) private view returns (ExperienceRegistry.Status) {
        return registry.recordOf(digest(what)).status;
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
