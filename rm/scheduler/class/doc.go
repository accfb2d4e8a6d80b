// Package class tells asks apart by their size. Each capability that is asked for gets a class, which is a bit of a mask.
// Asks of one class fit on the same nodes and below the same limits, so a search passes over whole subtrees of queues when
// nothing that is asked for in them has room.
//
// There are 62 classes. Capabilities beyond those share the class Shared, whose asks are looked at one by one. A class
// goes when nothing asks for its capability any more.
package class
