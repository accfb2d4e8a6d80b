// Package level brings containers to the levels that are on record: running, shrunk or suspended, with what they hold there.
//
// The ledger records first at which level a container is to be. Then its node gets an order, again and again until it answers. When a node has
// registered, its containers are brought to what is on record: the last leader may have died before it sent the order. An order that a node
// refuses is taken back. A container that changes without an order was changed by its ApplicationMaster, and the change is recorded.
//
// rm/scheduler/drive (Decided) or people (Suspend, Resume) choose the containers to suspend. The leader's loop passes on the nodes'
// reports: their features (Show), the levels of their containers (Reported), and orders that they can't carry out (Failed).
package level
