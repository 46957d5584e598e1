// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Governor} from "@openzeppelin/contracts/governance/Governor.sol";
import {IGovernor} from "@openzeppelin/contracts/governance/IGovernor.sol";
import {GovernorCountingSimple} from "@openzeppelin/contracts/governance/extensions/GovernorCountingSimple.sol";
import {GovernorPreventLateQuorum} from "@openzeppelin/contracts/governance/extensions/GovernorPreventLateQuorum.sol";
import {GovernorVotes} from "@openzeppelin/contracts/governance/extensions/GovernorVotes.sol";
import {
    GovernorVotesQuorumFraction
} from "@openzeppelin/contracts/governance/extensions/GovernorVotesQuorumFraction.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Address} from "@openzeppelin/contracts/utils/Address.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";

import {ExperienceRegistry} from "./ExperienceRegistry.sol";
import {GymStaking} from "./GymStaking.sol";

/// @title How an experience is accepted and how it is removed
/// @notice Review for three days, vote for five, accepted by exactly two thirds with a quorum of the stake, carried out
/// by `finalize`. Weights are those of the moment the vote opens. The paper's names (`proposeExperience`, `vote`,
/// `experiences`, `ExperienceProposed`, `ExperienceAccepted`) are here; the rest is OpenZeppelin's Governor.
/// @dev Nothing but five kinds of proposals can be made, none can be cancelled, and no setting can be changed: a
/// new governor comes with a new registry. `propose`, `cancel` and `relay` are therefore closed.
contract GymGovernor is GovernorCountingSimple, GovernorVotesQuorumFraction, GovernorPreventLateQuorum {
    using SafeERC20 for IERC20;

    /// @notice What a proposal can do.
    enum Kind {
        Addition,
        Removal,
        Replacement,
        Batch,
        Guardian
    }

    /// @notice What is chosen when the contracts are made.
    struct Settings {
        uint256 threshold;
        uint256 bond;
        uint256 quorumPercent;
        address treasury;
        address guardian;
        uint48 guardianUntil;
    }

    /// @notice What a proposal would do.
    struct Motion {
        Kind kind;
        bool finalized;
        uint48 guardianUntil;
        address guardian;
        bytes32 descriptionHash;
        bytes32[] added;
        bytes32[] removed;
    }

    /// @notice An experience as the paper's listing shows it; votes are those of its last proposal, in stake.
    struct Experience {
        bytes32 contentHash;
        string ipfsCid;
        address proposer;
        uint256 upvotes;
        uint256 downvotes;
        bool accepted;
    }

    /// @notice The time to read a proposal before the vote.
    uint48 public constant REVIEW = 3 days;

    /// @notice The time to vote.
    uint48 public constant VOTE = 5 days;

    /// @notice The time that is left at least once a quorum is reached.
    uint48 public constant EXTENSION = 2 days;

    /// @notice The time to carry out what was decided, counted from the latest end of the vote.
    uint48 public constant EXECUTION = 7 days;

    /// @notice The most experiences a proposal can add or remove.
    uint256 public constant MAX_BATCH = 100;

    /// @notice The most bytes a description can have.
    uint256 public constant MAX_DESCRIPTION = 4096;

    /// @notice The accepted experiences; made by this contract.
    ExperienceRegistry public immutable registry;

    /// @notice The token of the stakes and the bonds.
    IERC20 public immutable gym;

    /// @notice What a proposer pays in, and gets back unless two thirds say no.
    uint256 public immutable bond;

    /// @notice Where the bonds of such proposals go.
    address public immutable treasury;

    /// @notice The last proposal to add this experience by itself; zero for none.
    mapping(bytes32 contentHash => uint256) public additionOf;

    uint256 private immutable _threshold;
    mapping(uint256 proposalId => Motion) private _motions;

    /// @notice `contentHash` is proposed, alone or among others.
    event ExperienceProposed(bytes32 indexed contentHash, address indexed proposer);

    /// @notice `contentHash` is now part of the library.
    event ExperienceAccepted(bytes32 indexed contentHash);

    /// @notice The proposal came to its end; its bond went back or to the treasury.
    event ProposalFinalized(uint256 indexed proposalId, ProposalState state, bool bondReturned);

    /// @notice The settings make no sound governance.
    error InvalidSettings();

    /// @notice This way of proposing is closed: use `proposeExperience`, `proposeRemoval`, `proposeReplacement`,
    /// `proposeBatch` or `proposeGuardian`.
    error ClosedByDesign();

    /// @notice `given` is not the address of content with that digest.
    error CidMismatch(string given, string expected);

    /// @notice Zero is no content's digest.
    error InvalidDigest();

    /// @notice Another proposal to add this experience is open.
    error AlreadyProposed(bytes32 contentHash, uint256 proposalId);

    /// @notice The experience is in the library.
    error AlreadyAccepted(bytes32 contentHash);

    /// @notice The experience is not in the library.
    error NotAccepted(bytes32 contentHash);

    /// @notice No proposal to add this experience is known.
    error NeverProposed(bytes32 contentHash);

    /// @notice A batch holds from 1 to `MAX_BATCH` experiences.
    error InvalidBatchSize(uint256 size);

    /// @notice Digests must rise, so that none can come twice.
    error NotAscending(bytes32 contentHash);

    /// @notice A description has at most `MAX_DESCRIPTION` bytes.
    error DescriptionTooLong(uint256 length);

    /// @notice The proposal's end has been settled before.
    error AlreadyFinalized(uint256 proposalId);

    /// @notice The account had nothing staked when the vote opened.
    error NoStake(address account);

    /// @notice No ether is taken.
    error NoEther();

    /// @param staking whose checkpoints weigh the votes
    /// @param settings what is chosen once and for all
    constructor(GymStaking staking, Settings memory settings)
        Governor("GymGovernor")
        GovernorVotes(staking)
        GovernorVotesQuorumFraction(settings.quorumPercent)
        GovernorPreventLateQuorum(EXTENSION)
    {
        bool sound = settings.quorumPercent > 0 && settings.threshold > 0 && settings.treasury != address(0)
            && staking.COOLDOWN() > REVIEW + VOTE + EXTENSION;
        if (!sound) revert InvalidSettings();
        gym = staking.token();
        bond = settings.bond;
        treasury = settings.treasury;
        _threshold = settings.threshold;
        registry = new ExperienceRegistry(settings.guardian, settings.guardianUntil);
    }

    /// @notice No ether is taken.
    receive() external payable override {
        revert NoEther();
    }

    /// @notice Propose an experience (the paper's name). Its address must follow from its digest.
    /// @param ipfsCid CIDv1, raw, base32
    /// @param contentHash SHA-256 of the experience's canonical JSON
    /// @return proposalId the proposal
    function proposeExperience(string calldata ipfsCid, bytes32 contentHash) external returns (uint256 proposalId) {
        string memory expected = registry.cidOf(contentHash);
        if (!Strings.equal(ipfsCid, expected)) revert CidMismatch(ipfsCid, expected);
        uint256 before = additionOf[contentHash];
        if (before != 0 && _isOpen(state(before))) revert AlreadyProposed(contentHash, before);
        proposalId = _open(_motion(Kind.Addition, _one(contentHash), _none()), ipfsCid);
        additionOf[contentHash] = proposalId;
    }

    /// @notice Propose that an accepted experience leaves.
    /// @param contentHash the experience
    /// @param reason why, figures and all
    /// @return proposalId the proposal
    function proposeRemoval(bytes32 contentHash, string calldata reason) external returns (uint256 proposalId) {
        return _open(_motion(Kind.Removal, _none(), _one(contentHash)), reason);
    }

    /// @notice Propose that one experience takes another's place.
    /// @param old the accepted experience that would leave
    /// @param contentHash the one that would come
    /// @param reason why
    /// @return proposalId the proposal
    function proposeReplacement(bytes32 old, bytes32 contentHash, string calldata reason)
        external
        returns (uint256 proposalId)
    {
        return _open(_motion(Kind.Replacement, _one(contentHash), _one(old)), reason);
    }

    /// @notice Propose many changes that are voted on as one.
    /// @param added experiences that would come, rising
    /// @param removed accepted experiences that would leave, rising
    /// @param reason why
    /// @return proposalId the proposal
    function proposeBatch(bytes32[] calldata added, bytes32[] calldata removed, string calldata reason)
        external
        returns (uint256 proposalId)
    {
        return _open(_motion(Kind.Batch, added, removed), reason);
    }

    /// @notice Propose who may disable entries, and until when: a renewal, another guardian, or none.
    /// @param guardian the guardian; zero for none
    /// @param until when its powers would end
    /// @param reason why
    /// @return proposalId the proposal
    function proposeGuardian(address guardian, uint48 until, string calldata reason)
        external
        returns (uint256 proposalId)
    {
        if (until > clock() + registry.MAX_GUARDIANSHIP()) revert ExperienceRegistry.GuardianshipTooLong(until);
        Motion memory motion = _motion(Kind.Guardian, _none(), _none());
        motion.guardian = guardian;
        motion.guardianUntil = until;
        return _open(motion, reason);
    }

    /// @notice Vote on the open proposal to add an experience (the paper's name). Other proposals: `castVote`.
    /// @param hash the experience
    /// @param approve true for, false against
    function vote(bytes32 hash, bool approve) external {
        _castVote(_additionOf(hash), msg.sender, uint8(approve ? VoteType.For : VoteType.Against), "");
    }

    /// @notice Carry out what was decided on adding an experience. Anyone may, once, when the vote is over.
    /// @param hash the experience
    function finalize(bytes32 hash) external {
        finalizeProposal(_additionOf(hash));
    }

    /// @notice An experience and its last proposal, as the paper's listing shows them.
    /// @param hash the experience
    /// @return experience all zero for one that nobody proposed or accepted
    function experiences(bytes32 hash) external view returns (Experience memory experience) {
        uint256 proposalId = additionOf[hash];
        ExperienceRegistry.Record memory record = registry.recordOf(hash);
        if (proposalId == 0 && record.status == ExperienceRegistry.Status.Unknown) return experience;
        (experience.downvotes, experience.upvotes,) = proposalVotes(proposalId);
        experience.contentHash = hash;
        experience.ipfsCid = registry.cidOf(hash);
        experience.proposer = proposalId == 0 ? record.proposer : proposalProposer(proposalId);
        experience.accepted = record.status == ExperienceRegistry.Status.Active;
    }

    /// @notice What a proposal would do.
    /// @param proposalId the proposal
    /// @return motion all zero for an unknown one
    function motionOf(uint256 proposalId) external view returns (Motion memory motion) {
        return _motions[proposalId];
    }

    /// @notice Carry out what was decided, or settle what failed. Anyone may, once, when the vote is over.
    /// @param proposalId the proposal
    function finalizeProposal(uint256 proposalId) public {
        ProposalState now_ = state(proposalId);
        if (now_ == ProposalState.Succeeded) {
            (address[] memory targets, uint256[] memory values, bytes[] memory calls) =
                _action(_motions[proposalId], _terms(proposalId));
            execute(targets, values, calls, _motions[proposalId].descriptionHash);
        } else if (now_ == ProposalState.Defeated || now_ == ProposalState.Expired) {
            _settle(proposalId, now_);
        } else if (now_ == ProposalState.Executed) {
            revert AlreadyFinalized(proposalId);
        } else {
            revert GovernorUnexpectedProposalState(proposalId, now_, _encodeStateBitmap(ProposalState.Succeeded));
        }
    }

    /// @notice As `finalizeProposal`, by the call itself (OpenZeppelin's name).
    /// @param targets the registry
    /// @param values zero
    /// @param calldatas the call
    /// @param descriptionHash keccak256 of the description
    /// @return proposalId the proposal
    function execute(
        address[] memory targets,
        uint256[] memory values,
        bytes[] memory calldatas,
        bytes32 descriptionHash
    ) public payable override returns (uint256 proposalId) {
        if (msg.value > 0) revert NoEther();
        return super.execute(targets, values, calldatas, descriptionHash);
    }

    /// @notice Closed: proposals are of five kinds, each with its own function.
    /// @return proposalId never
    function propose(address[] memory, uint256[] memory, bytes[] memory, string memory)
        public
        pure
        override
        returns (uint256)
    {
        revert ClosedByDesign();
    }

    /// @notice Closed: what is proposed is voted on, so nobody can block an experience by proposing and withdrawing it.
    /// @return proposalId never
    function cancel(address[] memory, uint256[] memory, bytes[] memory, bytes32)
        public
        pure
        override
        returns (uint256)
    {
        revert ClosedByDesign();
    }

    /// @notice Closed: the governor calls nothing but the registry.
    function relay(address, uint256, bytes calldata) public payable override {
        revert ClosedByDesign();
    }

    /// @notice Where a proposal stands. A success that was not carried out in time has expired.
    /// @param proposalId the proposal
    /// @return now_ OpenZeppelin's states
    function state(uint256 proposalId) public view override returns (ProposalState now_) {
        now_ = super.state(proposalId);
        if (now_ == ProposalState.Succeeded && clock() > validUntil(proposalId)) return ProposalState.Expired;
    }

    /// @notice The last moment a success can be carried out.
    /// @param proposalId the proposal
    /// @return timepoint seconds since 1970
    function validUntil(uint256 proposalId) public view returns (uint48 timepoint) {
        return uint48(proposalSnapshot(proposalId)) + VOTE + EXTENSION + EXECUTION;
    }

    /// @notice When the vote on a proposal ends; later when the quorum is reached late.
    /// @param proposalId the proposal
    /// @return timepoint seconds since 1970
    function proposalDeadline(uint256 proposalId)
        public
        view
        override(Governor, GovernorPreventLateQuorum)
        returns (uint256 timepoint)
    {
        return super.proposalDeadline(proposalId);
    }

    /// @notice The stake that a proposer needs.
    /// @return weight in the token's smallest unit
    function proposalThreshold() public view override returns (uint256 weight) {
        return _threshold;
    }

    /// @notice The review.
    /// @return seconds_ from the proposal to the vote
    function votingDelay() public pure override returns (uint256 seconds_) {
        return REVIEW;
    }

    /// @notice The vote.
    /// @return seconds_ from its start to its end
    function votingPeriod() public pure override returns (uint256 seconds_) {
        return VOTE;
    }

    /// @notice How votes are counted: every vote counts for the quorum, as in the paper.
    /// @return mode the machine-readable description
    function COUNTING_MODE() public pure override(GovernorCountingSimple, IGovernor) returns (string memory mode) {
        return "support=bravo&quorum=against,for,abstain";
    }

    function _open(Motion memory motion, string memory description) private returns (uint256 proposalId) {
        _requireStake();
        _requireChange(motion);
        if (bytes(description).length > MAX_DESCRIPTION) revert DescriptionTooLong(bytes(description).length);
        motion.descriptionHash = keccak256(bytes(description));
        ExperienceRegistry.Terms memory terms = _termsOf(msg.sender, clock());
        (address[] memory targets, uint256[] memory values, bytes[] memory calls) = _action(motion, terms);
        proposalId = _propose(targets, values, calls, description, msg.sender);
        _motions[proposalId] = motion;
        for (uint256 i = 0; i < motion.added.length; ++i) {
            emit ExperienceProposed(motion.added[i], msg.sender);
        }
        if (bond > 0) gym.safeTransferFrom(msg.sender, address(this), bond);
    }

    function _requireStake() private view {
        uint256 weight = getVotes(msg.sender, clock() - 1);
        if (weight < _threshold) revert GovernorInsufficientProposerVotes(msg.sender, weight, _threshold);
    }

    function _requireChange(Motion memory motion) private view {
        if (motion.kind == Kind.Guardian) return;
        uint256 size = motion.added.length + motion.removed.length;
        if (size == 0 || size > MAX_BATCH) revert InvalidBatchSize(size);
        _requireAscending(motion.added);
        _requireAscending(motion.removed);
        for (uint256 i = 0; i < motion.added.length; ++i) {
            if (registry.isAccepted(motion.added[i])) revert AlreadyAccepted(motion.added[i]);
        }
        for (uint256 i = 0; i < motion.removed.length; ++i) {
            if (!registry.isAccepted(motion.removed[i])) revert NotAccepted(motion.removed[i]);
        }
    }

    function _requireAscending(bytes32[] memory digests) private pure {
        bytes32 last = bytes32(0);
        for (uint256 i = 0; i < digests.length; ++i) {
            if (digests[i] == bytes32(0)) revert InvalidDigest();
            if (digests[i] <= last) revert NotAscending(digests[i]);
            last = digests[i];
        }
    }

    function _executeOperations(
        uint256 proposalId,
        address[] memory targets,
        uint256[] memory,
        bytes[] memory calldatas,
        bytes32
    ) internal override {
        bytes memory result = Address.functionCall(targets[0], calldatas[0]);
        if (_motions[proposalId].kind != Kind.Guardian) {
            bytes32[] memory added = abi.decode(result, (bytes32[]));
            for (uint256 i = 0; i < added.length; ++i) {
                emit ExperienceAccepted(added[i]);
            }
        }
        _settle(proposalId, ProposalState.Executed);
    }

    function _settle(uint256 proposalId, ProposalState end) private {
        if (_motions[proposalId].finalized) revert AlreadyFinalized(proposalId);
        _motions[proposalId].finalized = true;
        bool returned = end != ProposalState.Defeated || !_isRefused(proposalId);
        emit ProposalFinalized(proposalId, end, returned);
        if (bond > 0) gym.safeTransfer(returned ? proposalProposer(proposalId) : treasury, bond);
    }

    /// @dev Two thirds against, with a quorum: the mirror image of acceptance.
    function _isRefused(uint256 proposalId) private view returns (bool) {
        (uint256 against, uint256 for_,) = proposalVotes(proposalId);
        return _quorumReached(proposalId) && 3 * against >= 2 * (for_ + against);
    }

    /// @dev Exactly two thirds; abstentions count for neither side, and somebody must be for it.
    function _voteSucceeded(uint256 proposalId)
        internal
        view
        override(Governor, GovernorCountingSimple)
        returns (bool)
    {
        (uint256 against, uint256 for_,) = proposalVotes(proposalId);
        return for_ > 0 && 3 * for_ >= 2 * (for_ + against);
    }

    function _quorumReached(uint256 proposalId)
        internal
        view
        override(Governor, GovernorCountingSimple)
        returns (bool)
    {
        (uint256 against, uint256 for_, uint256 abstain) = proposalVotes(proposalId);
        return against + for_ + abstain >= quorum(proposalSnapshot(proposalId));
    }

    function _countVote(uint256 proposalId, address account, uint8 support, uint256 weight, bytes memory params)
        internal
        override(Governor, GovernorCountingSimple)
        returns (uint256)
    {
        if (weight == 0) revert NoStake(account);
        return super._countVote(proposalId, account, support, weight, params);
    }

    function _tallyUpdated(uint256 proposalId) internal override(Governor, GovernorPreventLateQuorum) {
        super._tallyUpdated(proposalId);
    }

    /// @dev The one call that carries a motion out. The terms make it, and so the proposal's id, the proposer's own.
    function _action(Motion memory motion, ExperienceRegistry.Terms memory terms)
        private
        view
        returns (address[] memory targets, uint256[] memory values, bytes[] memory calls)
    {
        targets = new address[](1);
        values = new uint256[](1);
        calls = new bytes[](1);
        targets[0] = address(registry);
        if (motion.kind == Kind.Addition) {
            calls[0] = abi.encodeCall(registry.add, (motion.added[0], terms));
        } else if (motion.kind == Kind.Removal) {
            calls[0] = abi.encodeCall(registry.remove, (motion.removed[0], terms));
        } else if (motion.kind == Kind.Replacement) {
            calls[0] = abi.encodeCall(registry.replace, (motion.removed[0], motion.added[0], terms));
        } else if (motion.kind == Kind.Batch) {
            calls[0] = abi.encodeCall(registry.applyBatch, (motion.added, motion.removed, terms));
        } else {
            calls[0] = abi.encodeCall(registry.appointGuardian, (motion.guardian, motion.guardianUntil, terms));
        }
    }

    function _terms(uint256 proposalId) private view returns (ExperienceRegistry.Terms memory) {
        return _termsOf(proposalProposer(proposalId), uint48(proposalSnapshot(proposalId)) - REVIEW);
    }

    function _termsOf(address proposer, uint48 proposedAt) private pure returns (ExperienceRegistry.Terms memory) {
        uint48 last = proposedAt + REVIEW + VOTE + EXTENSION + EXECUTION;
        return ExperienceRegistry.Terms({proposer: proposer, proposedAt: proposedAt, validUntil: last});
    }

    function _additionOf(bytes32 hash) private view returns (uint256 proposalId) {
        proposalId = additionOf[hash];
        if (proposalId == 0) revert NeverProposed(hash);
    }

    function _motion(Kind kind, bytes32[] memory added, bytes32[] memory removed)
        private
        pure
        returns (Motion memory motion)
    {
        motion.kind = kind;
        motion.added = added;
        motion.removed = removed;
    }

    function _isOpen(ProposalState now_) private pure returns (bool) {
        return now_ == ProposalState.Pending || now_ == ProposalState.Active || now_ == ProposalState.Succeeded;
    }

    function _one(bytes32 digest) private pure returns (bytes32[] memory list) {
        list = new bytes32[](1);
        list[0] = digest;
    }

    function _none() private pure returns (bytes32[] memory list) {
        return new bytes32[](0);
    }
}
