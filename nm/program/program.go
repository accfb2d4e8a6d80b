// Package program says how containers run the node's own program.
package program

import (
	"fmt"
	"os"
	"strings"

	"heddle/yarn/pb"
)

// name is the program's name in a container's folder.
const name = "heddle"

// Of returns a shell's word by which a container runs a program of the machine, and the files that it needs for that. An image hasn't the machine's
// files: there the program is one of the container's own.
func Of(path string, image bool) (word string, files []*pb.StringLocalResourceMap, err error) {
	if !image {
		return quoted(path), nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, fmt.Errorf("their program: %w", err)
	}
	at := &pb.URL{}
	at.SetScheme("file")
	at.SetFile(path)
	at.SetPort(-1)
	file := &pb.LocalResource{}
	file.SetResource(at)
	file.SetSize(info.Size())
	file.SetTimestamp(info.ModTime().UnixMilli())
	file.SetType(pb.LocalResourceType_FILE)
	file.SetVisibility(pb.LocalResourceVisibility_PRIVATE)
	entry := &pb.StringLocalResourceMap{}
	entry.SetKey(name)
	entry.SetValue(file)
	return "./" + name, []*pb.StringLocalResourceMap{entry}, nil
}

// quoted returns a word for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
