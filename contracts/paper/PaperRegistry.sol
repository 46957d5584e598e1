// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// The paper's listing, mended only to compile. The tests show how it is cheated; nothing deploys it.
/// Added: the events, the modifier, the quorum and whose stakes count. The listing gives none of them.
interface IStaking {
    function stakeOf(address account) external view returns (uint256);
}

contract PaperRegistry {
    struct Experience {
        bytes32 contentHash;
        string ipfsCid;
        address proposer;
        uint256 upvotes;
        uint256 downvotes;
        bool accepted;
    }

    event ExperienceProposed(bytes32 contentHash, address proposer);
    event ExperienceAccepted(bytes32 hash);

    IStaking private immutable staking;
    uint256 private immutable quorum_;

    constructor(IStaking staking_, uint256 votes) {
        (staking, quorum_) = (staking_, votes);
    }

    modifier onlyStakers() {
        require(staking.stakeOf(msg.sender) > 0);
        _;
    }

    function quorum() internal view returns (uint256) {
        return quorum_;
    }

    mapping(bytes32 => Experience) public experiences;
    uint256 public acceptanceThreshold = 66; // 2/3

    function proposeExperience(
        string calldata ipfsCid,
        bytes32 contentHash
    ) external {
        experiences[contentHash] = Experience({
            contentHash: contentHash,
            ipfsCid: ipfsCid,
            proposer: msg.sender,
            upvotes: 0,
            downvotes: 0,
            accepted: false
        });
        emit ExperienceProposed(contentHash, msg.sender);
    }

    function vote(bytes32 hash, bool approve)
        external onlyStakers {
        Experience storage exp = experiences[hash];
        if (approve) exp.upvotes++;
        else exp.downvotes++;

        uint256 total = exp.upvotes + exp.downvotes;
        if (total >= quorum()
            && exp.upvotes * 100 / total
                >= acceptanceThreshold) {
            exp.accepted = true;
            emit ExperienceAccepted(hash);
        }
    }
}
