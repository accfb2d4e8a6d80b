// Package resize changes the sizes of containers, as their ApplicationMasters ask (YARN: UpdateContainerRequest). Requests go in, and the
// sizes that nodes report. Changes go to the ledger, to ApplicationMasters and to nodes; requests that can't be met come back with Hadoop's
// reasons.
//
// A container shrinks at once. It grows when the driver decides so and its ApplicationMaster passes that on to its node within a time
// limit; then the node confirms it. A growth that is never confirmed is taken back. A leader has one Sizes.
package resize
