// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

contract Counter {
    error NotOwner(address caller);

    event Increased(address indexed by, uint256 value);

    address public immutable owner = msg.sender;
    uint256 public value;

    constructor(uint256 start) payable {
        value = start;
    }

    function increase(uint256 by) external {
        require(by > 0, "by must be positive");
        value += by;
        emit Increased(msg.sender, value);
    }

    function withdraw(address payable to) external {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        (bool paid, ) = to.call{value: address(this).balance}("");
        require(paid, "not paid");
    }
}
