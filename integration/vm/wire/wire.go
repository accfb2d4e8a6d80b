// Package wire has the messages between a virtual machine and the process that booted it. Each is one line of JSON.
package wire

// Port is the name of the serial port that carries them.
const Port = "heddle.control"

// Request is a script to run.
type Request struct {
	ID     int    `json:"id"`
	Script string `json:"script"` // for sh
}

// Response is the result of a script. The machine's first one has no id: the machine is up, or Error says why not.
type Response struct {
	ID     int    `json:"id"`
	Output []byte `json:"output,omitempty"` // standard output and errors together
	Status int    `json:"status"`
	Error  string `json:"error,omitempty"` // why it could not run
}
