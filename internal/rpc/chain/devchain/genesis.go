package devchain

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/rollup"
)

const (
	devnetChainID = 1337
	rollupChainID = 1338

	genesisTime = 1_700_000_000

	devnetGasLimit = 60_000_000
	devnetBaseFee  = params.GWei

	// At 7 wei an eighth rounds to nothing, so the base fee can't fall; it can't rise
	// either, because no block comes near half of this limit.
	rollupGasLimit = 2_000_000_000
	rollupBaseFee  = 7

	// The rollup's pricing. The fixed and the variable cost are Linea's; the gas price
	// is 1.2 times the price of a plain transfer of 125 compressed bytes at these
	// costs, as its coordinator computes it.
	rollupFixedKwei    = 30_000
	rollupVariableKwei = 1_000_000
	rollupGasPriceKwei = 43_142
)

func devnetGenesis() *core.Genesis {
	return &core.Genesis{
		Config:     chainConfig(devnetChainID),
		Timestamp:  genesisTime,
		ExtraData:  []byte("nodegate devnet"),
		GasLimit:   devnetGasLimit,
		Difficulty: new(big.Int),
		Coinbase:   feeRecipient(),
		BaseFee:    big.NewInt(devnetBaseFee),
		Alloc:      alloc(),
	}
}

func rollupGenesis() *core.Genesis {
	return &core.Genesis{
		Config:    chainConfig(rollupChainID),
		Timestamp: genesisTime,
		ExtraData: rollup.EncodeExtraData(rollup.Pricing{
			FixedKwei: rollupFixedKwei, VariableKwei: rollupVariableKwei, EthGasPriceKwei: rollupGasPriceKwei,
		}),
		GasLimit:   rollupGasLimit,
		Difficulty: new(big.Int),
		Coinbase:   feeRecipient(),
		BaseFee:    big.NewInt(rollupBaseFee),
		Alloc:      alloc(),
	}
}

// chainConfig pins every fork through Osaka. It copies nothing from go-ethereum's
// ready-made configurations: those gain forks between releases (the development one
// runs Bogota, which prices state differently), and a chain's rules must not.
func chainConfig(id int64) *params.ChainConfig {
	return &params.ChainConfig{
		ChainID:                 big.NewInt(id),
		HomesteadBlock:          new(big.Int),
		EIP150Block:             new(big.Int),
		EIP155Block:             new(big.Int),
		EIP158Block:             new(big.Int),
		ByzantiumBlock:          new(big.Int),
		ConstantinopleBlock:     new(big.Int),
		PetersburgBlock:         new(big.Int),
		IstanbulBlock:           new(big.Int),
		MuirGlacierBlock:        new(big.Int),
		BerlinBlock:             new(big.Int),
		LondonBlock:             new(big.Int),
		ArrowGlacierBlock:       new(big.Int),
		GrayGlacierBlock:        new(big.Int),
		MergeNetsplitBlock:      new(big.Int),
		TerminalTotalDifficulty: new(big.Int),
		ShanghaiTime:            new(uint64),
		CancunTime:              new(uint64),
		PragueTime:              new(uint64),
		OsakaTime:               new(uint64),
		Ethash:                  new(params.EthashConfig),
		// Osaka has no entry of its own: it keeps Prague's.
		BlobScheduleConfig: &params.BlobScheduleConfig{
			Cancun: &params.BlobConfig{Target: 3, Max: 6, UpdateFraction: 3338477},
			Prague: &params.BlobConfig{Target: 6, Max: 9, UpdateFraction: 5007716},
		},
	}
}

// alloc funds the accounts and installs the contracts that the forks call into,
// plus the deterministic deployment factory that Foundry and others expect. They are
// listed one by one, so that a new go-ethereum can't change the genesis.
func alloc() types.GenesisAlloc {
	a := types.GenesisAlloc{
		Deployer().Address:                 {Balance: ether(1_000)},
		params.BeaconRootsAddress:          {Nonce: 1, Code: params.BeaconRootsCode, Balance: new(big.Int)},
		params.HistoryStorageAddress:       {Nonce: 1, Code: params.HistoryStorageCode, Balance: new(big.Int)},
		params.WithdrawalQueueAddress:      {Nonce: 1, Code: params.WithdrawalQueueCode, Balance: new(big.Int)},
		params.ConsolidationQueueAddress:   {Nonce: 1, Code: params.ConsolidationQueueCode, Balance: new(big.Int)},
		params.DeterministicFactoryAddress: {Nonce: 1, Code: params.DeterministicFactoryCode, Balance: new(big.Int)},
	}
	for _, account := range Accounts() {
		a[account.Address] = types.Account{Balance: ether(10_000)}
	}
	return a
}

// feeRecipient is nobody's address; tips must not go to a funded account.
func feeRecipient() common.Address {
	return common.HexToAddress("0xfee0000000000000000000000000000000000fee")
}
