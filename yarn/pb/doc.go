// Package pb has the messages of Hadoop's protocols that Heddle speaks, with Hadoop's field numbers, and those of Heddle's own extensions
// (heddle.proto, stages.proto).
package pb
