// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

import {Counter} from "../src/Counter.sol";

interface Vm {
    function startBroadcast() external;
    function stopBroadcast() external;
}

contract Deploy {
    Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    function run() external {
        vm.startBroadcast();
        Counter counter = new Counter(40);
        counter.increase(2);
        counter.increase(1);
        vm.stopBroadcast();
        require(counter.value() == 43, "simulated value");
    }
}
