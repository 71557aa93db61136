// Package abi decodes what contracts return, log and revert with, by an ABI that somebody
// pastes into the Playground: JSON as compilers write it, or signatures such as
//
//	function balanceOf(address owner) view returns (uint256)
//	event Transfer(address indexed from, address indexed to, uint256 value)
//	error InsufficientBalance(uint256 needed)
//
// Parse reads it; Result, Revert and Log decode. Both sides are input of strangers: sizes
// and depths are bounded, and so is what is produced for one response.
package abi
