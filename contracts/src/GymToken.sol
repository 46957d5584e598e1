// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @title GYM, for networks that have no token yet
/// @notice A fixed supply, all of it the deployer's at first. Nobody can mint more.
contract GymToken is ERC20 {
    /// @notice Mints the whole supply to the deployer.
    /// @param supply in the smallest unit; a token has 18 decimals
    constructor(uint256 supply) ERC20("Zoo Gym", "GYM") {
        _mint(msg.sender, supply);
    }
}
