// Command guest is the first process of a virtual machine of package vm: it loads modules, puts the file system together, and runs the
// scripts that it's sent over a serial port.
package main
