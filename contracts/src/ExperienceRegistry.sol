// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {Cid} from "./Cid.sol";
import {MerkleSet} from "./MerkleSet.sol";

/// @title The accepted experiences, and everything that ever happened to them
/// @notice Only the governor that made this registry writes it; a guardian may take an entry out for a while and put
/// nothing in. Every change is one event with the new version, what came and what went, the Merkle root of the active
/// set and a running hash over the whole history, so a node can rebuild any past library from events alone and prove it.
/// @dev An experience is known by the SHA-256 of its canonical JSON; its IPFS address follows from that.
contract ExperienceRegistry {
    using MerkleSet for MerkleSet.Set;

    /// @notice Unknown: never accepted. Disabled: accepted, but taken out by the guardian for now.
    enum Status {
        Unknown,
        Active,
        Disabled,
        Removed
    }

    /// @notice Who changed the library: the voters, the guardian, or the end of a quarantine.
    enum Cause {
        Vote,
        Quarantine,
        Reinstatement
    }

    /// @notice What a decision was taken on: whose proposal, of when, and how long it may still be carried out.
    struct Terms {
        address proposer;
        uint48 proposedAt;
        uint48 validUntil;
    }

    /// @notice An experience's standing. `changedAt` is the time of the last vote on it that was carried out.
    struct Record {
        address proposer;
        uint40 changedAt;
        uint40 disabledUntil;
        Status status;
    }

    /// @notice How long an entry stays out unless a vote removes it: a removal proposed on the first day is decided well within.
    uint40 public constant QUARANTINE = 14 days;

    /// @notice The longest a guardian can be appointed for.
    uint48 public constant MAX_GUARDIANSHIP = 365 days;

    /// @notice The only writer.
    address public immutable governor;

    /// @notice Who may disable entries, until `guardianUntil`.
    address public guardian;

    /// @notice When the guardian's powers end unless a vote renews them.
    uint48 public guardianUntil;

    /// @notice When a vote last appointed a guardian.
    uint48 public guardianChangedAt;

    /// @notice The number of changes so far.
    uint256 public version;

    /// @notice Hash over every change so far, this chain and this address.
    bytes32 public historyHash;

    mapping(bytes32 digest => Record) private _records;
    MerkleSet.Set private _active;

    /// @notice The library changed; replaying these gives any past library.
    event LibraryChanged(
        uint256 indexed version, Cause cause, bytes32[] added, bytes32[] removed, bytes32 root, bytes32 historyHash
    );

    /// @notice `guardian` may disable entries until `until`.
    event GuardianAppointed(address indexed guardian, uint48 until);

    /// @notice Only the governor writes.
    error NotGovernor(address caller);

    /// @notice The caller is not the guardian, or no longer.
    error NotGuardian(address caller);

    /// @notice A vote that was carried out later than this proposal was made has decided the opposite.
    error Superseded(bytes32 digest);

    /// @notice A later vote has appointed a guardian since this proposal was made.
    error GuardianSuperseded();

    /// @notice The decision could be carried out until `validUntil` only.
    error DecisionExpired(uint48 validUntil);

    /// @notice The entry is not active.
    error NotActive(bytes32 digest);

    /// @notice The entry has been accepted already.
    error AlreadyAccepted(bytes32 digest);

    /// @notice The guardian disabled this entry before; only a vote can take it out now.
    error AlreadyDisabledOnce(bytes32 digest);

    /// @notice The entry is not in quarantine.
    error NotDisabled(bytes32 digest);

    /// @notice The quarantine lasts until `until`.
    error StillDisabled(bytes32 digest, uint40 until);

    /// @notice A guardian is appointed for at most `MAX_GUARDIANSHIP`.
    error GuardianshipTooLong(uint48 until);

    modifier onlyGovernor() {
        if (msg.sender != governor) revert NotGovernor(msg.sender);
        _;
    }

    /// @notice Made by the governor, which stays its only writer.
    /// @param guardian_ the first guardian; zero for none
    /// @param until when its powers end
    constructor(address guardian_, uint48 until) {
        governor = msg.sender;
        historyHash = keccak256(abi.encode("zoo-gym experience registry", block.chainid, address(this)));
        _appoint(guardian_, until);
    }

    /// @notice Carry out a decision to add one experience.
    /// @param digest the experience
    /// @param terms what was decided on
    /// @return added the digest, unless it was accepted already
    function add(bytes32 digest, Terms calldata terms) external onlyGovernor returns (bytes32[] memory added) {
        return _decide(_one(digest), new bytes32[](0), terms);
    }

    /// @notice Carry out a decision to remove one experience.
    /// @param digest the experience
    /// @param terms what was decided on
    /// @return added nothing
    function remove(bytes32 digest, Terms calldata terms) external onlyGovernor returns (bytes32[] memory added) {
        return _decide(new bytes32[](0), _one(digest), terms);
    }

    /// @notice Carry out a decision to put one experience in another's place: both happen or neither does.
    /// @param old the experience that leaves
    /// @param digest the one that comes
    /// @param terms what was decided on
    /// @return added the one that came
    function replace(bytes32 old, bytes32 digest, Terms calldata terms)
        external
        onlyGovernor
        returns (bytes32[] memory added)
    {
        if (!isAccepted(old)) revert NotActive(old);
        if (isAccepted(digest)) revert AlreadyAccepted(digest);
        return _decide(_one(digest), _one(old), terms);
    }

    /// @notice Carry out a decision on many. What is as decided already is passed over.
    /// @param toAdd the experiences that come
    /// @param toRemove the experiences that leave
    /// @param terms what was decided on
    /// @return added those that came
    function applyBatch(bytes32[] calldata toAdd, bytes32[] calldata toRemove, Terms calldata terms)
        external
        onlyGovernor
        returns (bytes32[] memory added)
    {
        return _decide(toAdd, toRemove, terms);
    }

    /// @notice Carry out a decision on who may disable entries.
    /// @param guardian_ the new guardian; zero for none
    /// @param until when its powers end
    /// @param terms what was decided on
    function appointGuardian(address guardian_, uint48 until, Terms calldata terms) external onlyGovernor {
        if (block.timestamp > terms.validUntil) revert DecisionExpired(terms.validUntil);
        if (guardianChangedAt >= terms.proposedAt) revert GuardianSuperseded();
        _appoint(guardian_, until);
    }

    /// @notice Take an active entry out for `QUARANTINE`, once between two votes on it. The guardian's only power.
    /// @param digest the experience
    function disable(bytes32 digest) external {
        if (msg.sender != guardian || block.timestamp > guardianUntil) revert NotGuardian(msg.sender);
        Record storage record = _records[digest];
        if (record.status != Status.Active) revert NotActive(digest);
        if (record.disabledUntil != 0) revert AlreadyDisabledOnce(digest);
        record.status = Status.Disabled;
        record.disabledUntil = uint40(block.timestamp) + QUARANTINE;
        _active.remove(digest);
        _note(Cause.Quarantine, new bytes32[](0), _one(digest));
    }

    /// @notice Put an entry back whose quarantine ended without a vote to remove it. Anyone may.
    /// @param digest the experience
    function reinstate(bytes32 digest) external {
        Record storage record = _records[digest];
        if (record.status != Status.Disabled) revert NotDisabled(digest);
        if (block.timestamp <= record.disabledUntil) revert StillDisabled(digest, record.disabledUntil);
        record.status = Status.Active;
        _active.add(digest);
        _note(Cause.Reinstatement, _one(digest), new bytes32[](0));
    }

    /// @notice How many entries are active.
    /// @return entries the number
    function count() external view returns (uint256 entries) {
        return _active.values.length;
    }

    /// @notice The active entries from place `start` up to, not including, `end`, in the order of the Merkle tree.
    /// @param start the first place
    /// @param end the place after the last; beyond `count` is taken for `count`
    /// @return digests the experiences
    function active(uint256 start, uint256 end) external view returns (bytes32[] memory digests) {
        uint256 stop = Math.min(end, _active.values.length);
        digests = new bytes32[](stop > start ? stop - start : 0);
        for (uint256 i = 0; i < digests.length; ++i) {
            digests[i] = _active.values[start + i];
        }
    }

    /// @notice The Merkle root of the active entries; zero for none.
    /// @return hash as OpenZeppelin's MerkleProof verifies it, leaves `keccak256(keccak256(digest))`
    function root() external view returns (bytes32 hash) {
        return _active.root();
    }

    /// @notice An experience's standing.
    /// @param digest the experience
    /// @return record all zero for one that was never accepted
    function recordOf(bytes32 digest) external view returns (Record memory record) {
        return _records[digest];
    }

    /// @notice The experience's IPFS address.
    /// @param digest the experience
    /// @return cid CIDv1, raw, base32
    function cidOf(bytes32 digest) external pure returns (string memory cid) {
        return Cid.encode(digest);
    }

    /// @notice Whether the entry is part of the library now.
    /// @param digest the experience
    /// @return yes true if so
    function isActive(bytes32 digest) external view returns (bool yes) {
        return _records[digest].status == Status.Active;
    }

    /// @notice Whether voters have accepted the entry and not removed it since; the guardian may have disabled it.
    /// @param digest the experience
    /// @return yes true if so
    function isAccepted(bytes32 digest) public view returns (bool yes) {
        Status status = _records[digest].status;
        return status == Status.Active || status == Status.Disabled;
    }

    function _decide(bytes32[] memory toAdd, bytes32[] memory toRemove, Terms calldata terms)
        private
        returns (bytes32[] memory added)
    {
        if (block.timestamp > terms.validUntil) revert DecisionExpired(terms.validUntil);
        bytes32[] memory removed = _removed(toRemove, terms);
        added = _added(toAdd, terms);
        if (added.length + removed.length > 0) _note(Cause.Vote, added, removed);
    }

    function _removed(bytes32[] memory asked, Terms calldata terms) private returns (bytes32[] memory removed) {
        removed = new bytes32[](asked.length);
        uint256 done = 0;
        for (uint256 i = 0; i < asked.length; ++i) {
            if (!isAccepted(asked[i])) continue;
            Record storage record = _standing(asked[i], terms);
            if (record.status == Status.Active) _active.remove(asked[i]);
            record.changedAt = uint40(block.timestamp);
            record.disabledUntil = 0;
            record.status = Status.Removed;
            removed[done++] = asked[i];
        }
        _cut(removed, done);
    }

    function _added(bytes32[] memory asked, Terms calldata terms) private returns (bytes32[] memory added) {
        added = new bytes32[](asked.length);
        uint256 done = 0;
        for (uint256 i = 0; i < asked.length; ++i) {
            if (isAccepted(asked[i])) continue;
            Record storage record = _standing(asked[i], terms);
            record.proposer = terms.proposer;
            record.changedAt = uint40(block.timestamp);
            record.status = Status.Active;
            _active.add(asked[i]);
            added[done++] = asked[i];
        }
        _cut(added, done);
    }

    /// @dev A decision must be younger than the last one on the same entry that was carried out. A proposal of the very
    /// second of that one was made after it: before it, the governor would have refused to take it.
    function _standing(bytes32 digest, Terms calldata terms) private view returns (Record storage record) {
        record = _records[digest];
        if (record.changedAt > terms.proposedAt) revert Superseded(digest);
    }

    function _note(Cause cause, bytes32[] memory added, bytes32[] memory removed) private {
        bytes32 root_ = _active.root();
        uint256 version_ = ++version;
        bytes32 hash = keccak256(abi.encode(historyHash, version_, cause, added, removed, root_));
        historyHash = hash;
        emit LibraryChanged(version_, cause, added, removed, root_, hash);
    }

    function _appoint(address guardian_, uint48 until) private {
        if (until > block.timestamp + MAX_GUARDIANSHIP) revert GuardianshipTooLong(until);
        guardian = guardian_;
        guardianUntil = until;
        guardianChangedAt = uint48(block.timestamp);
        emit GuardianAppointed(guardian_, until);
    }

    function _one(bytes32 digest) private pure returns (bytes32[] memory list) {
        list = new bytes32[](1);
        list[0] = digest;
    }

    function _cut(bytes32[] memory list, uint256 length) private pure {
        assembly ("memory-safe") {
            mstore(list, length)
        }
    }
}
