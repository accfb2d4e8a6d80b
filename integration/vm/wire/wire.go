// Package wire has the messages between a virtual machine and the process that booted it, one line of JSON each.
package wire

// Port is the name of the serial port on which they talk.
const Port = "heddle.control"

// Request is a script to be run.
type Request struct {
	ID     int    `json:"id"`
	Script string `json:"script"` // for sh
}

// Response is what came of it. The first of a machine has no id: it's up, or Error says why not.
type Response struct {
	ID     int    `json:"id"`
	Output []byte `json:"output,omitempty"` // standard output and errors together
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"` // it could not be run
}
