package gateway

import "runtime"

func platform() string  { return runtime.GOARCH + "/" + runtime.GOOS }
func goVersion() string { return runtime.Version() }
