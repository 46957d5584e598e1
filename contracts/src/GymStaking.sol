// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Votes} from "@openzeppelin/contracts/governance/utils/Votes.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SafeCast} from "@openzeppelin/contracts/utils/math/SafeCast.sol";
import {Time} from "@openzeppelin/contracts/utils/types/Time.sol";

/// @title Staked GYM: what a vote weighs
/// @notice A stake cannot be handed on and leaves only through a cool-down that is longer than any vote, so whoever
/// decides stays exposed to the decision, and borrowed tokens decide nothing.
/// @dev Weights are checkpoints over time (ERC-5805, ERC-6372): a vote reads the past, never the present.
/// The token must move exactly what it is told to: no fee on a transfer, no rebasing.
contract GymStaking is Votes {
    using SafeERC20 for IERC20;

    /// @notice What is on its way out of the stake.
    struct Exit {
        uint208 amount;
        uint48 availableAt;
    }

    /// @notice How long tokens stay here after they stopped voting.
    uint48 public constant COOLDOWN = 14 days;

    /// @notice The token that is staked.
    IERC20 public immutable token;

    /// @notice What an account has staked and not asked back.
    mapping(address account => uint256) public stakeOf;

    /// @notice What an account has asked back and not yet withdrawn.
    mapping(address account => Exit) public exits;

    /// @notice `amount` of the account's tokens vote from now on.
    event Staked(address indexed account, uint256 amount);

    /// @notice `amount` votes no more; it can be withdrawn from `availableAt` on.
    event ExitRequested(address indexed account, uint256 amount, uint48 availableAt);

    /// @notice `amount` went back to the account.
    event Withdrawn(address indexed account, uint256 amount);

    /// @notice Nothing was to be moved.
    error NothingToMove();

    /// @notice More was asked back than is staked.
    error StakeTooSmall(uint256 staked, uint256 asked);

    /// @notice The cool-down ends at `availableAt`.
    error CoolingDown(uint48 availableAt);

    /// @param token_ the token to stake
    constructor(IERC20 token_) EIP712("GymStaking", "1") {
        token = token_;
    }

    /// @notice Stake `amount`, which the account must have approved. A first stake votes for its owner.
    /// @param amount in the token's smallest unit
    function stake(uint256 amount) external {
        if (amount == 0) revert NothingToMove();
        if (delegates(msg.sender) == address(0)) _delegate(msg.sender, msg.sender);
        stakeOf[msg.sender] += amount;
        _transferVotingUnits(address(0), msg.sender, amount);
        emit Staked(msg.sender, amount);
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    /// @notice Ask `amount` back. It stops voting at once; asking again starts the cool-down of the whole exit anew.
    /// @param amount in the token's smallest unit
    function requestExit(uint256 amount) external {
        if (amount == 0) revert NothingToMove();
        uint256 staked = stakeOf[msg.sender];
        if (amount > staked) revert StakeTooSmall(staked, amount);
        stakeOf[msg.sender] = staked - amount;
        Exit storage exit = exits[msg.sender];
        exit.amount += SafeCast.toUint208(amount);
        exit.availableAt = clock() + COOLDOWN;
        _transferVotingUnits(msg.sender, address(0), amount);
        emit ExitRequested(msg.sender, amount, exit.availableAt);
    }

    /// @notice Take back what was asked for, once its cool-down is over.
    function withdraw() external {
        Exit memory exit = exits[msg.sender];
        if (exit.amount == 0) revert NothingToMove();
        if (clock() < exit.availableAt) revert CoolingDown(exit.availableAt);
        delete exits[msg.sender];
        emit Withdrawn(msg.sender, exit.amount);
        token.safeTransfer(msg.sender, exit.amount);
    }

    /// @notice Everything staked now.
    /// @return amount in the token's smallest unit
    function totalStake() external view returns (uint256 amount) {
        return _getTotalSupply();
    }

    /// @notice Seconds since 1970, the time of the block (ERC-6372).
    /// @return now_ the timepoint that votes are counted by
    function clock() public view override returns (uint48 now_) {
        return Time.timestamp();
    }

    /// @notice That `clock` is a timestamp (ERC-6372).
    /// @return mode the machine-readable description
    function CLOCK_MODE() public pure override returns (string memory mode) {
        return "mode=timestamp";
    }

    function _getVotingUnits(address account) internal view override returns (uint256) {
        return stakeOf[account];
    }
}
