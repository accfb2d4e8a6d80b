package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"heddle/nm/ramdisk"
)

// newStager is the helper that writes a file on a NodeManager's RAM disk from its standard input.
func newStager() *cobra.Command {
	return &cobra.Command{
		Use: "stager FILE SIZE", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			size, err := strconv.ParseInt(args[1], 10, 64)
			if err == nil {
				err = ramdisk.Helper(os.Stdin, args[0], size)
			}
			if err != nil {
				return fmt.Errorf("stager: %w", err)
			}
			return nil
		},
	}
}
