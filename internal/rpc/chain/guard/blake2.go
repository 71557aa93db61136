package guard

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"time"
)

// Layout of the input of the BLAKE2 compression function (EIP-152).
const (
	blakeInput  = 213
	blakeState  = 4   // eight words of state
	blakeBlock  = 68  // sixteen words of message
	blakeOffset = 196 // two words of counter
	blakeFinal  = 212 // last byte: is this the last block?
)

// Rounds that are run without a look at the guard: well below a millisecond.
const blakeSlice = 4096

// blakeRound is the least time of a round, with go-ethereum's assembly.
const blakeRound = 5 * time.Nanosecond

// blakeIV are the initial words of BLAKE2b.
var blakeIV = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

// blakeSigma is the order in which a round takes the words of the message.
var blakeSigma = [10][16]byte{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
	{14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
	{7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
	{2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
	{13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
	{10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}

// longBlake reports whether an input is good and asks for so many rounds that they must
// be run in slices. go-ethereum's assembly runs them in one loop that the scheduler can't
// interrupt: a garbage collection waits for it, and everybody waits for the collection.
func longBlake(input []byte) bool {
	return len(input) == blakeInput && input[blakeFinal] <= 1 && binary.BigEndian.Uint32(input) > blakeSlice
}

// blake2f is the compression function, in slices.
func blake2f(g *Guard, input []byte) []byte {
	var h [8]uint64
	var m, v [16]uint64
	for i := range h {
		h[i] = binary.LittleEndian.Uint64(input[blakeState+8*i:])
	}
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(input[blakeBlock+8*i:])
	}
	copy(v[:8], h[:])
	copy(v[8:], blakeIV[:])
	v[12] ^= binary.LittleEndian.Uint64(input[blakeOffset:])
	v[13] ^= binary.LittleEndian.Uint64(input[blakeOffset+8:])
	if input[blakeFinal] == 1 {
		v[14] = ^v[14]
	}
	rounds := uint64(binary.BigEndian.Uint32(input))
	for done := uint64(0); done < rounds; done += blakeSlice {
		g.check()
		runtime.Gosched() // short requests needn't wait until the scheduler interrupts this one
		blakeRounds(&v, &m, done, min(done+blakeSlice, rounds))
	}
	out := make([]byte, 64)
	for i := range h {
		binary.LittleEndian.PutUint64(out[8*i:], h[i]^v[i]^v[i+8])
	}
	return out
}

// blakeRounds mixes the message in, from one round to another.
func blakeRounds(v, m *[16]uint64, from, to uint64) {
	v0, v1, v2, v3, v4, v5, v6, v7 := v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]
	v8, v9, v10, v11, v12, v13, v14, v15 := v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15]
	for i := from; i < to; i++ {
		s := &blakeSigma[i%10]
		v0, v4, v8, v12 = mix(v0, v4, v8, v12, m[s[0]&15], m[s[1]&15])
		v1, v5, v9, v13 = mix(v1, v5, v9, v13, m[s[2]&15], m[s[3]&15])
		v2, v6, v10, v14 = mix(v2, v6, v10, v14, m[s[4]&15], m[s[5]&15])
		v3, v7, v11, v15 = mix(v3, v7, v11, v15, m[s[6]&15], m[s[7]&15])
		v0, v5, v10, v15 = mix(v0, v5, v10, v15, m[s[8]&15], m[s[9]&15])
		v1, v6, v11, v12 = mix(v1, v6, v11, v12, m[s[10]&15], m[s[11]&15])
		v2, v7, v8, v13 = mix(v2, v7, v8, v13, m[s[12]&15], m[s[13]&15])
		v3, v4, v9, v14 = mix(v3, v4, v9, v14, m[s[14]&15], m[s[15]&15])
	}
	*v = [16]uint64{v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15}
}

// mix is the function G of BLAKE2.
func mix(a, b, c, d, x, y uint64) (uint64, uint64, uint64, uint64) {
	a += b + x
	d = bits.RotateLeft64(d^a, -32)
	c += d
	b = bits.RotateLeft64(b^c, -24)
	a += b + y
	d = bits.RotateLeft64(d^a, -16)
	c += d
	return a, bits.RotateLeft64(b^c, -63), c, d
}
