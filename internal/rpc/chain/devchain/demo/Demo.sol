// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.20;

/// The demonstration contract of the built-in development chains: something to
/// read, to call, to estimate, to watch and to fail on.
contract Demo {
    /// A plain variable: storage position 0x0.
    uint256 public value;

    /// A mapping in slot 1: the entry of an address is at
    /// keccak256(address padded to 32 bytes ++ 1 padded to 32 bytes).
    mapping(address => uint256) public balances;

    event ValueChanged(address indexed by, uint256 value);
    event Transfer(address indexed from, address indexed to, uint256 value);

    error InsufficientDemo(uint256 available, uint256 required);

    constructor() {
        balances[msg.sender] = 1_000_000;
        emit Transfer(address(0), msg.sender, 1_000_000);
    }

    function setValue(uint256 newValue) external {
        value = newValue;
        emit ValueChanged(msg.sender, newValue);
    }

    function transfer(address to, uint256 amount) external returns (bool) {
        uint256 available = balances[msg.sender];
        if (available < amount) revert InsufficientDemo(available, amount);
        balances[msg.sender] = available - amount;
        balances[to] += amount;
        emit Transfer(msg.sender, to, amount);
        return true;
    }

    function balanceOf(address owner) external view returns (uint256) {
        return balances[owner];
    }

    /// Computes for n rounds and touches no storage: the cost of a call is the
    /// interpreter's alone.
    function loop(uint256 n) external pure returns (uint256 result) {
        unchecked {
            for (uint256 i = 0; i < n; i++) result = result * 31 + i;
        }
    }

    function failWithReason() external pure {
        revert("demo: always fails");
    }

    function failWithCustomError() external pure {
        revert InsufficientDemo(1, 2);
    }

    function failWithPanic() external pure {
        assert(false);
    }

    /// Never returns: it ends at the gas limit or at the time limit.
    function spin() external pure {
        while (true) {}
    }
}
