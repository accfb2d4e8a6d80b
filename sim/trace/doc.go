// Package trace reads traces of jobs for package sim: those of Hawk and its successors (.tr), of SWIM (.tsv), and of Hadoop's
// scheduler load simulator (.json: SLS, SYNTH and Rumen), each plain or compressed with gzip. An error names file, line and reason.
package trace
