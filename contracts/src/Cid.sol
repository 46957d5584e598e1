// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The IPFS address of a SHA-256 digest
/// @notice CIDv1, raw leaf, base32: what an IPFS node gives the same bytes (SPEC 7.4).
library Cid {
    bytes32 private constant ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";

    /// @notice `b`, then base32 of `01 55 12 20` and the digest, without padding: 59 characters.
    /// @param digest SHA-256 of the content
    /// @return cid the content's address
    function encode(bytes32 digest) internal pure returns (string memory cid) {
        bytes memory content = abi.encodePacked(hex"01551220", digest);
        bytes memory text = new bytes(59);
        text[0] = "b";
        uint256 bits = 0;
        uint256 held = 0;
        uint256 place = 1;
        for (uint256 i = 0; i < content.length; ++i) {
            bits = (bits << 8) | uint8(content[i]);
            held += 8;
            while (held >= 5) {
                held -= 5;
                text[place++] = ALPHABET[(bits >> held) & 31];
            }
            bits &= (1 << held) - 1;
        }
        text[place] = ALPHABET[(bits << (5 - held)) & 31]; // 288 bits are 57 characters and 3 bits
        return string(text);
    }
}
