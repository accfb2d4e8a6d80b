package jvm

import (
	_ "embed"
	"fmt"
	"path/filepath"

	"heddle/internal/userfiles"
)

// hostJar is java/, compiled for Java 8. TestTheJarIsWhatItsSourceSays makes it again with -update.
//
//go:embed host.jar
var hostJar []byte

// metaspaceMB bounds the memory of a JVM's classes.
const metaspaceMB = 256

// MemoryMB returns the memory that a JVM with such a heap may use in all, in MiB: heap, as much outside of it (buffers of sockets and files), classes,
// and code and threads.
func MemoryMB(heapMB int) int { return 2*heapMB + metaspaceMB + 256 }

// WriteJar puts the programs into a folder, in the place of another release's, from which a JVM may still read. It returns their path.
func WriteJar(dir string) (string, error) {
	path := filepath.Join(dir, "heddle-javahost.jar")
	name := filepath.Base(path)
	d, err := userfiles.OpenDir(dir)
	if err == nil {
		defer d.Close()
		err = d.Write(name+".partial", hostJar, (*userfiles.User)(nil).Want(0o644))
	}
	if err == nil {
		err = d.Rename(name+".partial", d, name)
	}
	if err != nil {
		return "", fmt.Errorf("write the programs that run Java's parts: %w", err)
	}
	return path, nil
}
