package rollup

import "github.com/nodegate/nodegate/internal/method"

// Method is the one method that this package answers itself.
const Method = method.Layer2EstimateGas
