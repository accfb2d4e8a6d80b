package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"heddle/cmd/internal/program"
)

// ofLaboratory returns a command that heddle-lab has under the same words. It becomes that program, with all arguments of this one, so that signals and the exit code
// are its own.
func ofLaboratory(name, short, group string) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, GroupID: group, DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := program.Beside("heddle-lab")
			if err != nil {
				return fmt.Errorf("%s is a command of heddle-lab: %w", cmd.CommandPath(), err)
			}
			words := strings.Fields(cmd.CommandPath())[1:]
			err = syscall.Exec(path, append(append([]string{path}, words...), args...), os.Environ())
			return fmt.Errorf("run %s: %w", path, err)
		},
	}
}
