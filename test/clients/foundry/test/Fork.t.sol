// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

import {Counter} from "../src/Counter.sol";

interface Vm {
    function envAddress(string calldata name) external returns (address);
    function envUint(string calldata name) external returns (uint256);
    function prank(address sender) external;
    function rpc(string calldata method, string calldata params) external returns (bytes memory);
    function roll(uint256 number) external;
}

/// Runs on a fork of a chain on which a Counter is deployed.
contract ForkTest {
    Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    function test_reads_the_chain() external {
        Counter counter = Counter(vm.envAddress("COUNTER"));
        require(counter.value() == 43, "the value is not that of the chain");
        require(block.chainid == vm.envUint("CHAIN"), "another chain");
        vm.prank(counter.owner());
        counter.increase(1);
        require(counter.value() == 44, "the fork doesn't change");
    }

    function test_asks_the_node() external {
        bytes memory head = vm.rpc("eth_blockNumber", "[]");
        require(head.length > 0, "no answer");
    }
}
