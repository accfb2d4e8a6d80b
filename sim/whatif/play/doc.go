// Package play plays a load (sim/whatif/load) in virtual time through the scheduler and the rounds of preemption of a ResourceManager
// (rm/scheduler/drive), under the configuration that it was recorded under or another one. It makes no decision itself: it only says when
// applications come, what they ask for, and when containers end. The same load and options lead to the same result, byte for byte.
package play
