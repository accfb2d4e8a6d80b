// Package trace reads traces of jobs for package sim: those of Hawk and its successors (.tr), of SWIM (.tsv), and of Hadoop's
// scheduler load simulator (SLS, .json), each plain or compressed with gzip.
package trace
