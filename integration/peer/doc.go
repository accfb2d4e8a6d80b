// Package peer plays an ApplicationMaster that no node launched, which says what its test wants it to say.
//
// A [Master] keeps what the protocol makes it keep: the number of the last answer and tokens. Its caller writes the messages,
// true or not.
package peer
