// Command heddle is every role of a Heddle cluster and its command line.
package main

func main() {}
