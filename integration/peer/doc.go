// Package peer plays those that speak with a ResourceManager: a node, and an ApplicationMaster that no node launched.
//
// Each keeps what its protocol makes it keep, such as the number of the last answer and the keys, and says what its test
// wants it to say. A node that lies is a [Node] whose functions change a message before it is sent; an ApplicationMaster
// that lies is a [Master] whose caller writes its messages.
package peer
