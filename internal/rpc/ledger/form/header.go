package form

import "slices"

// Head is what answers need of a block's header. It is small, to be kept for many blocks.
type Head struct {
	Hash, Parent      [32]byte
	Number, Time      uint64
	GasLimit, GasUsed uint64

	BaseFee                    [32]byte // a number, the highest byte first
	BlobGasUsed, ExcessBlobGas uint64

	// BlobGasPrice is not in the header: what it is depends on the network's schedule. The
	// caller sets it where it is known. Receipts of blob transactions need it.
	BlobGasPrice [32]byte

	HasBaseFee, HasBlobGas, HasBlobGasPrice bool
}

// The fields of a header, in their order.
const (
	parentHash = iota
	sha3Uncles
	miner
	stateRoot
	transactionsRoot
	receiptsRoot
	logsBloom
	difficulty
	blockNumber
	gasLimit
	gasUsed
	timestamp
	extraData
	mixHash
	blockNonce
	baseFeePerGas // optional from here on
	withdrawalsRoot
	blobGasUsed
	excessBlobGas
	parentBeaconBlockRoot
	requestsHash
	blockAccessListHash
	slotNumber
	headerFields
)

// The kinds of members that headers and blocks have.
const (
	bytesMember = iota
	numberMember
	hashMember // from here on they are not fields of the header
	sizeMember
	transactionsMember
	unclesMember
	withdrawalsMember
)

// fieldRules says what each field may be: bytes of one size (0: of any), or a number of at
// most so many bytes.
var fieldRules = [headerFields]struct{ kind, size int }{
	parentHash: {bytesMember, 32}, sha3Uncles: {bytesMember, 32}, miner: {bytesMember, 20}, stateRoot: {bytesMember, 32},
	transactionsRoot: {bytesMember, 32}, receiptsRoot: {bytesMember, 32}, logsBloom: {bytesMember, BloomBytes},
	difficulty: {numberMember, 32}, blockNumber: {numberMember, 8}, gasLimit: {numberMember, 8}, gasUsed: {numberMember, 8},
	timestamp: {numberMember, 8}, extraData: {bytesMember, 0}, mixHash: {bytesMember, 32}, blockNonce: {bytesMember, 8},
	baseFeePerGas: {numberMember, 32}, withdrawalsRoot: {bytesMember, 32}, blobGasUsed: {numberMember, 8}, excessBlobGas: {numberMember, 8},
	parentBeaconBlockRoot: {bytesMember, 32}, requestsHash: {bytesMember, 32}, blockAccessListHash: {bytesMember, 32}, slotNumber: {numberMember, 8},
}

// header is the fields of a header; nil where one is not there.
type header [headerFields][]byte

// read finds the fields. An optional hash that is left out before a field that is there is
// an empty string. A number that is left out there can't be told from zero, and is zero.
func (f *header) read(raw []byte) bool {
	in := cursor{rest: raw}
	list := in.list()
	for i, rule := range &fieldRules {
		if i >= baseFeePerGas && !list.more() {
			break
		}
		switch {
		case rule.kind == numberMember:
			f[i] = list.quantity(rule.size)
		case rule.size == 0:
			f[i] = list.data()
		case i > baseFeePerGas && list.more() && list.rest[0] == shortString:
			list.data()
		default:
			f[i] = list.fixed(rule.size)
		}
	}
	return in.done() && list.done()
}

// Head reads a header. It returns false when that is not possible.
func (w *Writer) Head(raw []byte) (Head, bool) {
	var f header
	if !f.read(raw) {
		return Head{}, false
	}
	h := Head{
		Hash: w.Hash(raw), Parent: [32]byte(f[parentHash]),
		Number: small(f[blockNumber]), Time: small(f[timestamp]), GasLimit: small(f[gasLimit]), GasUsed: small(f[gasUsed]),
		BlobGasUsed: small(f[blobGasUsed]), ExcessBlobGas: small(f[excessBlobGas]),
		HasBaseFee: f[baseFeePerGas] != nil, HasBlobGas: f[excessBlobGas] != nil,
	}
	fee := f[baseFeePerGas]
	copy(h.BaseFee[wordBytes-len(fee):], fee)
	return h, true
}

// member is a member of a header or a block.
type member struct {
	name        string
	kind, field int
}

// headerMembers are all members, in the order in which they are written.
var headerMembers = [...]member{
	{`,"baseFeePerGas":`, numberMember, baseFeePerGas},
	{`,"blobGasUsed":`, numberMember, blobGasUsed},
	{`,"blockAccessListHash":`, bytesMember, blockAccessListHash},
	{`,"difficulty":`, numberMember, difficulty},
	{`,"excessBlobGas":`, numberMember, excessBlobGas},
	{`,"extraData":`, bytesMember, extraData},
	{`,"gasLimit":`, numberMember, gasLimit},
	{`,"gasUsed":`, numberMember, gasUsed},
	{`,"hash":`, hashMember, 0},
	{`,"logsBloom":`, bytesMember, logsBloom},
	{`,"miner":`, bytesMember, miner},
	{`,"mixHash":`, bytesMember, mixHash},
	{`,"nonce":`, bytesMember, blockNonce},
	{`,"number":`, numberMember, blockNumber},
	{`,"parentBeaconBlockRoot":`, bytesMember, parentBeaconBlockRoot},
	{`,"parentHash":`, bytesMember, parentHash},
	{`,"receiptsRoot":`, bytesMember, receiptsRoot},
	{`,"requestsHash":`, bytesMember, requestsHash},
	{`,"sha3Uncles":`, bytesMember, sha3Uncles},
	{`,"size":`, sizeMember, 0},
	{`,"slotNumber":`, numberMember, slotNumber},
	{`,"stateRoot":`, bytesMember, stateRoot},
	{`,"timestamp":`, numberMember, timestamp},
	{`,"transactions":`, transactionsMember, 0},
	{`,"transactionsRoot":`, bytesMember, transactionsRoot},
	{`,"uncles":`, unclesMember, 0},
	{`,"withdrawals":`, withdrawalsMember, 0},
	{`,"withdrawalsRoot":`, bytesMember, withdrawalsRoot},
}

// headerText is the most characters of a header beside its extra data.
const headerText = 2400

// Header appends the header of the block h, given its RLP and members to append. It returns
// false, and dst as it was, when the header can't be read.
func (w *Writer) Header(dst []byte, h *Head, raw, extra []byte) ([]byte, bool) {
	var f header
	if !f.read(raw) {
		return dst, false
	}
	t := text{slices.Grow(dst, headerText+2*len(f[extraData])+len(extra))}
	start := len(t.b)
	for i := range headerMembers {
		t.headerMember(&headerMembers[i], &f, h)
	}
	t.b[start] = '{'
	t.close(extra)
	return t.b, true
}

// headerMember writes a member that is in the header, and the hash.
func (t *text) headerMember(m *member, f *header, h *Head) {
	switch {
	case m.kind == hashMember:
		t.data(m.name, h.Hash[:])
	case m.kind > hashMember || f[m.field] == nil:
	case m.kind == numberMember:
		t.quantity(m.name, f[m.field])
	default:
		t.data(m.name, f[m.field])
	}
}
