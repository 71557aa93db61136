package rollup

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate"
)

func TestSelectors(t *testing.T) {
	for signature, got := range map[string]selector{
		"getL1Fee(bytes)": getL1Fee, "getOperatorFee(uint256)": getOperatorFee, "isEcotone()": isEcotone, "isFjord()": isFjord, "isJovian()": isJovian,
		"isCurie()": isCurie, "l1BaseFee()": getL1BaseFee, "overhead()": getOverhead, "scalar()": getScalar,
		"gasEstimateComponents(address,bool,bytes)": gasEstimateComponents,
	} {
		if want := crypto.Keccak256([]byte(signature))[:4]; string(got[:]) != string(want) {
			t.Errorf("%s is %x, want %x", signature, got, want)
		}
	}
}

func TestABI(t *testing.T) {
	word := func(n int) string { return fmt.Sprintf("%064x", n) }
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{getL1Fee.withBytes(nil), "49948e0e" + word(32) + word(0)},
		{getL1Fee.withBytes([]byte{1, 2}), "49948e0e" + word(32) + word(2) + "0102" + strings.Repeat("0", 60)},
		{getL1Fee.withBytes(make([]byte, 32)), "49948e0e" + word(32) + word(32) + word(0)},
		{getOperatorFee.withNumber(21000), "275aedd2" + word(21000)},
	} {
		if got := fmt.Sprintf("%x", c.got); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestStacks(t *testing.T) {
	for _, stack := range append(stacks(), "") {
		if _, err := New(&script{}, Config{Stack: stack, Remote: true}); err != nil {
			t.Errorf("%q: %v", stack, err)
		}
	}
	_, err := New(&script{}, Config{Stack: "optimism"})
	wantError(t, err, nodegate.BadConfig, `rollup: no stack "optimism": it is one of linea, op, arbitrum, zksync, scroll`)
}

// The vectors of op-geth's own tests.
var (
	emptyTx = "dd80808094095e7baea6a6c7c4c2dfeb977efac326af552d878080808080"
	// A contract call on OP mainnet.
	contractTx = "02f901550a758302df1483be21b88304743f94f80e51afb613d764fa61751affd3313c190a86bb870151bd62fd12adb8e41ef24f3f" +
		"000000000000000000000000000000000000000000000000000000000000006e000000000000000000000000af88d065e77c8cc2239327c5edb3a432268e5831" +
		"000000000000000000000000000000000000000000000000000000000003c1e5" + strings.Repeat("0", 128) + strings.Repeat("0", 62) + "a0" +
		strings.Repeat("0", 62) + "14" + "8c89ed219d02f1a5be012c689b4f5b731827bebe000000000000000000000000" +
		"c001a033fd89cb37c31b2cba46b6466e040c61fc9b2a3675a7f5f493ebd5ad77c497f8a07cdf65680e238392693019b4092f610222e71b7cec06449cb922b93b6a12744e"
	opVector = opPrices{baseFee: big.NewInt(1e9), blobBaseFee: big.NewInt(1e7), baseFeeScalar: 2, blobBaseFeeScalar: 3}
)

func TestFlzLen(t *testing.T) {
	ones := slices.Repeat([]byte{1}, 1000)
	for _, c := range []struct {
		name string
		data []byte
		want int
	}{
		{"nothing", nil, 0}, {"ones", ones, 21}, {"zeros", make([]byte, 1000), 21},
		{"an empty transaction", unhex(t, emptyTx), 31}, {"a contract call", unhex(t, contractTx), 202}, {"three bytes", unhex(t, "FACADE"), 4},
	} {
		if got := flzLen(c.data); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// compressFlz writes what flzLen only counts: the same matches, as FastLZ's bytes.
func compressFlz(data []byte) (out []byte) {
	f, done, at := flz{data: data}, 0, 2
	for {
		from, to := f.find(at)
		if to < 0 {
			return appendLiterals(out, data[done:])
		}
		length := f.match(from, to)
		out = appendMatch(appendLiterals(out, data[done:to]), to-from, length+2)
		f.note(to + length)
		f.note(to + length + 1)
		at = to + length + 2
		done = at
	}
}

func appendLiterals(out, run []byte) []byte {
	for chunk := range slices.Chunk(run, 32) {
		out = append(append(out, byte(len(chunk)-1)), chunk...)
	}
	return out
}

// appendMatch writes a match of at least three bytes. The longest of one instruction
// has 264; a longer one leaves at least three for the last.
func appendMatch(out []byte, distance, length int) []byte {
	high, low := byte((distance-1)>>8), byte(distance-1)
	for ; length > 264; length -= 262 {
		out = append(out, 7<<5|high, 253, low)
	}
	if length <= 8 {
		return append(out, byte(length-2)<<5|high, low)
	}
	return append(out, 7<<5|high, byte(length-9), low)
}

// expandFlz reads FastLZ, level 1.
func expandFlz(in []byte) (out []byte) {
	for len(in) > 0 {
		kind := int(in[0] >> 5)
		if kind == 0 {
			n := int(in[0]) + 1
			out, in = append(out, in[1:1+n]...), in[1+n:]
			continue
		}
		high, length, rest := int(in[0]&31)<<8, kind+2, in[1:]
		if kind == 7 {
			length, rest = 9+int(rest[0]), rest[1:]
		}
		from := len(out) - high - int(rest[0]) - 1
		for i := range length {
			out = append(out, out[from+i])
		}
		in = rest[1:]
	}
	return out
}

// FuzzFlz holds that the size is that of a real encoding, which gives the data back.
func FuzzFlz(f *testing.F) {
	f.Add([]byte(nil), 1)
	f.Add(unhex(f, contractTx), 3)
	f.Add(slices.Repeat([]byte{7}, 600), 20)
	f.Add(noise(100, 3), 90)
	f.Fuzz(func(t *testing.T, data []byte, times int) {
		data = slices.Repeat(data, 1+int(uint(times)%100))
		data = data[:min(len(data), 1<<16)]
		packed := compressFlz(data)
		if got := flzLen(data); got != len(packed) || !slices.Equal(expandFlz(packed), data) {
			t.Errorf("%d bytes: size %d, packed %d", len(data), got, len(packed))
		}
	})
}

func TestOpFees(t *testing.T) {
	tx := unhex(t, emptyTx)
	check := func(what string, got *big.Int, want int64) {
		t.Helper()
		if got.Cmp(big.NewInt(want)) != 0 {
			t.Errorf("%s: %v, want %d", what, got, want)
		}
	}
	if gas := calldataGas(tx); gas != 480 {
		t.Errorf("calldata gas %d, want 480", gas)
	}
	before := calldataFee{big.NewInt(1e9), big.NewInt(50), big.NewInt(7e6), opDecimals}
	check("bedrock, the signature twice", before.of(calldataGas(tx)+signatureBytes*nonZeroGas), 11326000000000)
	check("regolith", before.of(calldataGas(tx)), 3710000000000)
	check("ecotone", opVector.ecotone(calldataGas(tx)), 960900)
	check("fjord", opVector.fjord(flzLen(tx)), 3203000)
	for _, flz := range []int{100, 150, 170} {
		check("the least", opVector.fjord(flz), 3203000)
	}
	for _, flz := range []int{171, 175, 200} {
		if opVector.fjord(flz).Cmp(big.NewInt(3203000)) <= 0 {
			t.Errorf("%d bytes cost no more than the least", flz)
		}
	}
	check("the contract's own numbers", opPrices{big.NewInt(2e6), big.NewInt(3e6), 20, 15}.fjord(235), 105484)
	check("the minimum", opPrices{big.NewInt(1000), big.NewInt(1000), 1000, 1000}.fjord(4), 1700)
	check("a contract call", opPrices{big.NewInt(1000), big.NewInt(1000), 1000, 1000}.fjord(202), 2148)
	if gas := fjordSize(235) * nonZeroGas / opDecimals; gas != 2463 {
		t.Errorf("gas %d, want 2463", gas)
	}
	var terms operatorTerms
	binary.BigEndian.PutUint32(terms[20:], 1439103868)
	binary.BigEndian.PutUint64(terms[24:], 1256417826609331460)
	check("isthmus", terms.fee(1618, false), 1256417826611659930)
	check("jovian", terms.fee(1618, true), 1256650673615173860)
}

// TestLikelyTransaction holds our encodings to go-ethereum's.
func TestLikelyTransaction(t *testing.T) {
	to := common.HexToAddress(recipient)
	max256 := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	dynamic := &types.DynamicFeeTx{ChainID: big.NewInt(10), Nonce: 3, GasTipCap: big.NewInt(5), GasFeeCap: big.NewInt(19), Gas: 21000, To: &to, Value: big.NewInt(0x28f), V: big.NewInt(1), R: max256, S: max256}
	creation := &types.DynamicFeeTx{ChainID: big.NewInt(10), Nonce: 3, GasTipCap: big.NewInt(5), GasFeeCap: big.NewInt(19), Gas: 21000, Data: []byte{0xfe}, V: big.NewInt(1), R: max256, S: max256}
	legacy := &types.LegacyTx{Nonce: 3, GasPrice: big.NewInt(9), Gas: 21000, To: &to, V: big.NewInt(2*10 + 36), R: max256, S: max256}
	for _, c := range []struct {
		call string
		want types.TxData
	}{{transfer, dynamic}, {`{"input":"0xfe"}`, creation}, {`{"gasPrice":"0x9","to":"` + recipient + `"}`, legacy}} {
		n := newNode(t, chainScript(map[string]any{"eth_chainId": `"0xa"`}), Config{Stack: Scroll})
		req, err := parseRequest([]byte(`[` + c.call + `]`))
		if err != nil {
			t.Fatal(err)
		}
		nonce := json.RawMessage(`"0x3"`)
		if err := json.Unmarshal(nonce, &req.call.Nonce); err != nil {
			t.Fatal(err)
		}
		d, err := n.likely(t.Context(), req, &quote{gas: 21000, baseFee: big.NewInt(7), priorityFee: big.NewInt(5)})
		if err != nil {
			t.Fatal(err)
		}
		want, err := types.NewTx(c.want).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.signed()
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %x, want %x (%v)", c.call, got, want, err)
		}
		hash := types.LatestSignerForChainID(big.NewInt(10)).Hash(types.NewTx(c.want))
		unsigned, err := d.unsigned()
		if err != nil || crypto.Keccak256Hash(unsigned) != hash {
			t.Errorf("%s: what is signed is %x (%v)", c.call, unsigned, err)
		}
	}
}

// oracle answers calls to contracts by a function of the stack, and storage by slots.
type oracle struct {
	*script
	call func(to string, input []byte) (string, error)
}

func (o oracle) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	var args []json.RawMessage
	var call struct{ To, Input string }
	if method != "eth_call" || json.Unmarshal(params, &args) != nil || json.Unmarshal(args[0], &call) != nil {
		return o.script.Call(ctx, method, params)
	}
	o.asked = append(o.asked, method+" "+string(params))
	out, err := o.call(call.To, common.FromHex(call.Input))
	return []byte(`"` + out + `"`), err
}

func word(n int64) string { return fmt.Sprintf("0x%064x", n) }

// feeScript is a network of the stack at rest: the next base fee is 7 wei, the tip 5.
func feeScript(changes map[string]any) *script {
	s := chainScript(map[string]any{
		"eth_feeHistory": `{"baseFeePerGas":["0x8","0x7"]}`, "eth_maxPriorityFeePerGas": `"0x5"`, "eth_chainId": `"0xa"`,
	})
	for name, answer := range changes {
		s.answers[name] = answer
	}
	return s
}

var revert = &nodegate.Error{Code: nodegate.NodeFault, Number: 3, Msg: "execution reverted", Data: json.RawMessage(`"0x"`)}

// opNetwork has the oracle of some upgrade: nil functions are those it doesn't have.
func opNetwork(changes map[string]any, functions map[selector]func(input []byte) string) oracle {
	return oracle{feeScript(changes), func(to string, input []byte) (string, error) {
		if to != "0x420000000000000000000000000000000000000f" || len(input) < 4 {
			return "0x", nil
		}
		f := functions[selector(input[:4])]
		if f == nil {
			return "", revert
		}
		return f(input[4:]), nil
	}}
}

// slotsOf are the prices of the vectors, as the contract keeps them.
func slotsOf(operator string) map[string]any {
	slot := func(n int) string {
		return fmt.Sprintf(`eth_getStorageAt ["0x4200000000000000000000000000000000000015","0x%064x","latest"]`, n)
	}
	return map[string]any{
		slot(1): `"` + word(1e9) + `"`, slot(7): `"` + word(1e7) + `"`, slot(8): `"` + operator + `"`,
		slot(5): `"` + word(50) + `"`, slot(6): `"` + word(7e6) + `"`,
		slot(3): `"0x` + strings.Repeat("0", 32) + "00000002" + "00000003" + strings.Repeat("0", 16) + `"`,
	}
}

func TestOpEstimate(t *testing.T) {
	yes := func([]byte) string { return word(1) }
	no := func([]byte) string { return word(0) }
	fee := func(n int64) func([]byte) string { return func([]byte) string { return word(n) } }
	operator := "0x" + strings.Repeat("0", 40) + fmt.Sprintf("%08x%016x", 1000, 77)
	for _, c := range []struct {
		name      string
		functions map[selector]func([]byte) string
		changes   map[string]any
		want      string // "": byHand
		byHand    func(tx []byte) *big.Int
	}{
		{"the oracle knows both", map[selector]func([]byte) string{getL1Fee: fee(1000), getOperatorFee: fee(34)}, nil, "0x40a", nil},
		{"before isthmus", map[selector]func([]byte) string{getL1Fee: fee(1000)}, slotsOf(word(0)), "0x3e8", nil},
		{"isthmus, oracle can't", map[selector]func([]byte) string{getL1Fee: fee(1000), isJovian: no}, slotsOf(operator), "0x44a", nil}, // 1000 + 21000·1000/10^6 + 77
		{"jovian, oracle can't", map[selector]func([]byte) string{getL1Fee: fee(1000), isJovian: yes}, slotsOf(operator), fmt.Sprintf("%#x", 1000+21000*1000*100+77), nil},
		{"too long for the oracle, fjord", map[selector]func([]byte) string{getOperatorFee: fee(0), isFjord: yes}, slotsOf(word(0)), "0x30dfb8", nil}, // 3203000
		{"too long for the oracle, ecotone", map[selector]func([]byte) string{getOperatorFee: fee(0), isFjord: no, isEcotone: yes}, slotsOf(word(0)), "",
			func(tx []byte) *big.Int { return opVector.ecotone(calldataGas(tx) + 68*16) }},
		{"too long for the oracle, before ecotone", map[selector]func([]byte) string{getOperatorFee: fee(0), isEcotone: no}, slotsOf(word(0)), "",
			func(tx []byte) *big.Int { return big.NewInt(int64(calldataGas(tx)+68*16+50) * 7e9) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			network := opNetwork(c.changes, c.functions)
			got, err := newNode(t, network, Config{Stack: OP, Remote: true}).Call(t.Context(), Method, []byte(`[`+transfer+`]`))
			if err != nil {
				t.Fatal(err)
			}
			want := c.want
			if want == "" { // by the formula over what was asked
				want = fmt.Sprintf("%#x", c.byHand(askedBytes(t, network.asked)))
			}
			if string(got) != `{"gasLimit":"0x5208","baseFeePerGas":"0x7","priorityFeePerGas":"0x5","l1DataFee":"`+want+`"}` {
				t.Errorf("%s, want the fee %s", got, want)
			}
		})
	}
}

// askedBytes is the transaction that the oracle was asked about.
func askedBytes(t *testing.T, asked []string) []byte {
	t.Helper()
	for _, a := range asked {
		_, rest, ok := strings.Cut(a, `"input":"0x49948e0e`)
		if !ok {
			continue
		}
		data := common.FromHex(rest[:strings.IndexByte(rest, '"')])
		length := new(big.Int).SetBytes(data[32:64]).Int64()
		return data[64 : 64+length]
	}
	t.Fatalf("nobody asked for a fee: %v", asked)
	return nil
}

// TestOpAsks holds that every step is asked at the block, and of what.
func TestOpAsks(t *testing.T) {
	network := opNetwork(nil, map[selector]func([]byte) string{
		getL1Fee: func([]byte) string { return word(1) }, getOperatorFee: func([]byte) string { return word(1) },
	})
	if _, err := newNode(t, network, Config{Stack: OP}).Call(t.Context(), Method, []byte(`[`+transfer+`,"0x5"]`)); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`eth_estimateGas [` + transfer + `,"0x5"]`, `eth_feeHistory ["0x1","0x5",[]]`, `eth_maxPriorityFeePerGas []`,
		`eth_getTransactionCount ["` + sender + `","0x5"]`, `eth_chainId []`,
		`eth_call [{"to":"0x420000000000000000000000000000000000000f","input":"0x49948e0e`, `eth_call [{"to":"0x420000000000000000000000000000000000000f","input":"0x275aedd2` + word(21000)[2:] + `"},"0x5"]`,
		`eth_getBalance ["` + sender + `","0x5"]`,
	} {
		if i >= len(network.asked) || !strings.HasPrefix(network.asked[i], want) {
			t.Fatalf("step %d of %q, want %s", i, network.asked, want)
		}
	}
	// The transaction has no signature: the oracle adds for one.
	if tx := askedBytes(t, network.asked); tx[0] != dynamicFeeType || len(tx) > 60 {
		t.Errorf("asked for %x", tx)
	}
}

func TestDataFeeErrors(t *testing.T) {
	good := map[selector]func([]byte) string{getL1Fee: func([]byte) string { return word(1) }, getOperatorFee: func([]byte) string { return word(1) }}
	down := &nodegate.Error{Code: nodegate.NoNode, Msg: "no node available"}
	for _, c := range []struct {
		name, params string
		functions    map[selector]func([]byte) string
		changes      map[string]any
		code         nodegate.Code
		msg          string
	}{
		{"no fee history", `[{}]`, good, map[string]any{"eth_feeHistory": `{"baseFeePerGas":["0x7"]}`}, nodegate.Internal, "internal error"},
		{"null in it", `[{}]`, good, map[string]any{"eth_feeHistory": `{"baseFeePerGas":["0x7",null]}`}, nodegate.Internal, "internal error"},
		{"no tip", `[{}]`, good, map[string]any{"eth_maxPriorityFeePerGas": `{}`}, nodegate.Internal, "internal error"},
		{"no chain id", `[{}]`, good, map[string]any{"eth_chainId": `null`}, nodegate.Internal, "internal error"},
		{"unknown hash", `[{},"0x` + strings.Repeat("1", 64) + `"]`, good, map[string]any{"eth_getBlockByHash": `null`}, nodegate.ExecutionFailed, "header for hash not found"},
		{"no contract there", `[{}]`, map[selector]func([]byte) string{getL1Fee: func([]byte) string { return "0x" }}, nil, nodegate.Internal, "internal error"},
		{"half a word", `[{}]`, map[selector]func([]byte) string{getL1Fee: func([]byte) string { return word(1)[:34] }}, nil, nodegate.Internal, "internal error"},
		{"two words", `[{}]`, map[selector]func([]byte) string{getL1Fee: func([]byte) string { return word(1) + word(1)[2:] }}, nil, nodegate.Internal, "internal error"},
		{"short slot", `[{}]`, map[selector]func([]byte) string{isFjord: good[getL1Fee]}, map[string]any{"eth_getStorageAt": `"0x1"`}, nodegate.Internal, "internal error"},
		{"slots fail", `[{}]`, nil, map[string]any{"eth_getStorageAt": down}, nodegate.NoNode, "no node available"},
		{"the sender can't pay the fee beside", `[` + transfer + `]`, good, map[string]any{"eth_getBalance": fmt.Sprintf(`"%#x"`, 21000*7+0x28f+1)}, nodegate.ExecutionFailed, "transaction up-front cost 0x240c9 exceeds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := newNode(t, opNetwork(c.changes, c.functions), Config{Stack: OP, Remote: true}).Call(t.Context(), Method, []byte(c.params))
			wantError(t, err, c.code, c.msg)
		})
	}
	enough := map[string]any{"eth_getBalance": fmt.Sprintf(`"%#x"`, 21000*7+0x28f+2)}
	if _, err := newNode(t, opNetwork(enough, good), Config{Stack: OP}).Call(t.Context(), Method, []byte(`[`+transfer+`]`)); err != nil {
		t.Errorf("the sender can pay to the wei: %v", err)
	}
}

// TestComingBaseFee takes the network's own number, at every kind of block.
func TestComingBaseFee(t *testing.T) {
	hash := "0x" + strings.Repeat("1", 64)
	for block, want := range map[string]string{
		`"latest"`: `"latest"`, `"pending"`: `"latest"`, `"0x5"`: `"0x5"`, `"safe"`: `"safe"`, `{"blockNumber":"0x6"}`: `"0x6"`,
		`"` + hash + `"`: `"0x5"`, `{"blockHash":"` + hash + `"}`: `"0x5"`,
	} {
		next := feeScript(nil)
		b, err := parseBlock(json.RawMessage(block))
		if err != nil {
			t.Fatal(err)
		}
		fee, err := newNode(t, next, Config{Stack: OP}).comingBaseFee(t.Context(), b)
		if err != nil || fee.Int64() != 7 || !slices.Contains(next.asked, `eth_feeHistory ["0x1",`+want+`,[]]`) {
			t.Errorf("%s: %v, %v, asked %q", block, fee, err, next.asked)
		}
	}
}
