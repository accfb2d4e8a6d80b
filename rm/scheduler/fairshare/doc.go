// Package fairshare computes what queues and applications are entitled to under YARN's FairScheduler: the share of each under
// a weighted max-min division with minimum and maximum shares.
//
// It is pure arithmetic over plain structs. Scheduling orders by these shares, views show them, and fair preemption finds
// by them who starves and who has more than is due.
package fairshare
