// Package resize gives containers other sizes, as their ApplicationMasters wish (YARN: UpdateContainerRequest). Wishes go in, and
// what nodes say that they give containers. What has changed goes to the ledger, to ApplicationMasters and to nodes, and wishes that can't be
// met come back with Hadoop's reasons.
//
// A container shrinks at once. It grows when the driver decides so, and its ApplicationMaster brings its node word of that within a
// time; then the node confirms it. A growth that is never confirmed is taken back. A leader has one Sizes.
package resize
