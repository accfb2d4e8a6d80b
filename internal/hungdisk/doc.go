// Package hungdisk gives tests a disk that doesn't answer.
package hungdisk
