// Package jobs tests heddle mr: the binary submits jobs to clusters of its own processes, and to stock Hadoop.
package jobs
