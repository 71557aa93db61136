package chain

import "github.com/nodegate/nodegate/internal/method"

const (
	sendMethod = method.EthSendRawTransaction
	syncMethod = method.EthSendRawTransactionSync
)
