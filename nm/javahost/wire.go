package javahost

import (
	"fmt"

	"heddle/hdfsadapter/jvm"
)

// Operations, as in java/Services.java.
const (
	opHello byte = iota + 1
	opInit
	opStart
	opApplicationInit
	opApplicationStop
	opContainerInit
	opContainerStop
	opDirs
	opQuit
	opLoad
	opUnload
)

// maxServices bounds the services that a reply may name.
const maxServices = 1000

// decodeStarted returns what services have for applications, by name; nil stands for nothing.
func decodeStarted(b []byte) (map[string][]byte, error) {
	f := jvm.Fields{B: b}
	n := f.Integer()
	if f.Err != nil || n < 0 || n > maxServices {
		return nil, fmt.Errorf("a reply with %d services", n)
	}
	out := make(map[string][]byte)
	for range n {
		name := f.Text()
		out[name] = f.Bytes()
	}
	return out, f.Err
}
