// Command guest is the first process of a virtual machine of package vm. It loads modules, assembles the file system, and runs the
// scripts that it receives over a serial port.
package main
