package backup

import "github.com/nodegate/nodegate"

func fault(code nodegate.Code, msg string, cause error) error {
	return &nodegate.Error{Op: "backup", Code: code, Msg: msg, Err: cause}
}

// damaged is a part that can't be what was written.
func damaged(name string, cause error) error {
	return fault(nodegate.Damaged, "the backup is damaged: "+name+" is not what was written", cause)
}
