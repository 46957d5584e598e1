// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Hashes} from "@openzeppelin/contracts/utils/cryptography/Hashes.sol";

/// @title A set of digests that always knows its Merkle root
/// @notice Its order is that of OpenZeppelin's EnumerableSet (a removal moves the last value into the gap), so that
/// anyone who replays the changes gets the same tree; leaves and nodes are hashed as OpenZeppelin's MerkleProof expects.
/// @dev A change writes one path, about log2(count) nodes. A level ends with its last node above a value; what lies
/// beyond counts as zero and is never read, so a shrunken tree needs no cleaning.
library MerkleSet {
    /// @notice The values in their order, each one's place counted from one, and the inner nodes by level and index.
    struct Set {
        bytes32[] values;
        mapping(bytes32 value => uint256) places;
        mapping(uint256 level => mapping(uint256 index => bytes32)) nodes;
    }

    /// @notice Put `value` at the end.
    /// @param set the set
    /// @param value what is added; it must not be in the set
    function add(Set storage set, bytes32 value) internal {
        assert(set.places[value] == 0);
        set.values.push(value);
        set.places[value] = set.values.length;
        _climb(set, set.values.length - 1);
    }

    /// @notice Take `value` out; the last one takes its place.
    /// @param set the set
    /// @param value what is removed; it must be in the set
    function remove(Set storage set, bytes32 value) internal {
        uint256 place = set.places[value];
        assert(place != 0);
        uint256 left = set.values.length - 1;
        bytes32 last = set.values[left];
        set.values[place - 1] = last;
        set.places[last] = place;
        set.values.pop();
        delete set.places[value];
        if (place <= left) _climb(set, place - 1);
        if (left > 0) _climb(set, left - 1);
    }

    /// @notice The root over all values; zero for none.
    /// @param set the set
    /// @return hash the root
    function root(Set storage set) internal view returns (bytes32 hash) {
        uint256 count = set.values.length;
        if (count == 0) return bytes32(0);
        uint256 level = 0;
        while ((count - 1) >> level > 0) ++level;
        return _node(set, level, 0);
    }

    /// @notice Hashed twice, so that no inner node can pass for a leaf.
    /// @param value a digest
    /// @return hash its leaf
    function leaf(bytes32 value) internal pure returns (bytes32 hash) {
        return keccak256(bytes.concat(keccak256(abi.encode(value))));
    }

    function _climb(Set storage set, uint256 index) private {
        uint256 last = set.values.length - 1;
        for (uint256 level = 1; last >> (level - 1) > 0; ++level) {
            index >>= 1;
            bytes32 left = _node(set, level - 1, 2 * index);
            bytes32 right = _node(set, level - 1, 2 * index + 1);
            set.nodes[level][index] = Hashes.commutativeKeccak256(left, right);
        }
    }

    function _node(Set storage set, uint256 level, uint256 index) private view returns (bytes32) {
        if (index > (set.values.length - 1) >> level) return bytes32(0);
        return level == 0 ? leaf(set.values[index]) : set.nodes[level][index];
    }
}
