package raft

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	hraft "github.com/hashicorp/raft"
)

// An incarnation tells a member's state folder from those that it had before. Raft knows a member by its id and its folder's incarnation, so
// it never takes the vote or the acknowledgement of a new folder for those of a lost one. Folders of earlier versions have none.

const (
	// incarnationBytes is the length of an incarnation; it is written in hexadecimal digits.
	incarnationBytes = 8
	// incarnationMark stands before the incarnation in a ServerID.
	incarnationMark = "#"
)

// newIncarnation returns the incarnation of a folder that is being made.
func newIncarnation() string {
	b := make([]byte, incarnationBytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// serverID returns what raft calls a member. splitServerID is its inverse.
func serverID(id, incarnation string) hraft.ServerID {
	if incarnation == "" {
		return hraft.ServerID(id)
	}
	return hraft.ServerID(id + incarnationMark + incarnation)
}

// splitServerID returns a member's id, and its incarnation or "".
func splitServerID(s hraft.ServerID) (id, incarnation string) {
	at := len(s) - 2*incarnationBytes - len(incarnationMark)
	if at < 0 || string(s[at:at+len(incarnationMark)]) != incarnationMark {
		return string(s), ""
	}
	incarnation = string(s[at+len(incarnationMark):])
	if strings.Trim(incarnation, "0123456789abcdef") != "" {
		return string(s), ""
	}
	return string(s[:at]), incarnation
}

// bareID returns a member's id without its incarnation.
func bareID(s hraft.ServerID) string {
	id, _ := splitServerID(s)
	return id
}

// target is the member that a connection is meant for.
type target struct {
	id, incarnation string
	address         string
}

const targetMark = "@"

// dialled writes a target as an address for raft's transport, which passes it on to Dial. It keeps connections by this address, so that it
// can't use one to a lost folder for the new one. An address has no @.
func dialled(id hraft.ServerID, address hraft.ServerAddress) hraft.ServerAddress {
	return hraft.ServerAddress(id) + targetMark + address
}

// parseTarget reads what dialled writes.
func parseTarget(a hraft.ServerAddress) target {
	at := strings.LastIndex(string(a), targetMark)
	if at < 0 {
		return target{address: string(a)}
	}
	id, incarnation := splitServerID(hraft.ServerID(a[:at]))
	return target{id, incarnation, string(a[at+len(targetMark):])}
}
