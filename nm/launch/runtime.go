package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// RuntimeType is the variable by which a container asks for another way to be run, such as docker.
const RuntimeType = "YARN_CONTAINER_RUNTIME_TYPE"

// Runtimes are the ways in which containers may be run: as processes of the machine ("default"), or in images.
type Runtimes struct {
	Allowed []string // yarn.nodemanager.runtime.linux.allowed-runtimes; nil: all
	Usual   string   // yarn.nodemanager.runtime.linux.type: that of containers that ask for none
}

// errRuntime is the error of Hadoop's DelegatingLinuxContainerRuntime.
//
//lint:ignore ST1005 Hadoop's words
var errRuntime = errors.New("Requested runtime not allowed.")

// Check refuses a container that asks for something else than to be run on the machine itself.
func (r Runtimes) Check(env []Var) error {
	asked, by := r.Usual, "yarn.nodemanager.runtime.linux.type"
	if i := slices.IndexFunc(env, func(v Var) bool { return v.Name == RuntimeType }); i >= 0 {
		asked, by = env[i].Value, RuntimeType
	}
	switch {
	case asked != "" && asked != "default":
		//lint:ignore ST1005 Hadoop's words
		return fmt.Errorf("Unable to prepare container: %w %s is %.100q, and this node runs containers by %s only"+
			" (yarn.nodemanager.runtime.linux.allowed-runtimes; of these Heddle has default and, if heddle.nodemanager.images.dirs or images.registries names a place of images, docker and runc)", errRuntime, by, asked, strings.Join(r.Allowed, ","))
	case r.Allowed != nil && !slices.ContainsFunc(r.Allowed, func(a string) bool { return strings.EqualFold(a, "default") }):
		//lint:ignore ST1005 Hadoop's words
		return fmt.Errorf("Unable to prepare container: %w yarn.nodemanager.runtime.linux.allowed-runtimes is %s, without default", errRuntime, strings.Join(r.Allowed, ","))
	}
	return nil
}

// IgnoredRuntime says what becomes of a container that asks for a runtime where Hadoop's DefaultContainerExecutor ignores
// that: it runs on the machine itself. It returns "" for a container that asks for nothing else.
func IgnoredRuntime(env []Var) string {
	if (Runtimes{}).Check(env) == nil {
		return ""
	}
	return RuntimeType + " has no effect with DefaultContainerExecutor: the container runs on the machine itself.\n"
}
