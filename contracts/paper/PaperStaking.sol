// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// The plainest stake that the listing's `onlyStakers` can mean, which it leaves open: tokens put in and taken out at will.
contract PaperStaking {
    IERC20 private immutable token;
    mapping(address => uint256) public stakeOf;

    constructor(IERC20 token_) {
        token = token_;
    }

    function stake(uint256 amount) external {
        stakeOf[msg.sender] += amount;
        require(token.transferFrom(msg.sender, address(this), amount));
    }

    function unstake(uint256 amount) external {
        stakeOf[msg.sender] -= amount;
        require(token.transfer(msg.sender, amount));
    }
}
