// Package suspend takes a container's resources away without ending it, and gives them back: BIG-C's container monitor, with more rungs.
//
// A Ladder belongs to one container. An Order says which Level the container is to have, and what it holds of its node then:
//
//	running    it has what it was granted
//	shrunk     it runs with less CPU, memory or both; what doesn't fit is paged out
//	footprint  it runs with 1 % of a core and 64 MB
//	frozen     it is suspended, with its memory
//	reclaimed  it is suspended, and its memory is paged out but for what it holds
//
// On the way down the CPU goes before the memory, as a running process dirties pages as fast as they are written out. On the way up memory
// comes before CPU, and what was paged out is read ahead. Every step can be cut short: the context of a call ends when the container is
// to be killed.
//
// A container that is suspended sends no heartbeats, so its peers would give it up. So Breaths lets it run for a moment now and then, until
// its heartbeats have gone out. There is one for a node. Containers breathe one after the other; each may use a set amount of memory on top
// of what it holds.
//
// A container that is suspended holds its used memory, and less with every part that is paged out, because it can't take more. One that
// runs holds its grant until paging out is complete.
//
// Memory that can't be taken, because swap is full or the machine has too little memory, stays with the container: a State has the amount
// that it really holds, and the reason. No container is killed for using memory that it was granted.
//
// The caller (nm/container) has written an order to the disk before a ladder sees it, composes limits of what is granted and held, and
// gives each container's ladder to one goroutine at a time.
package suspend
