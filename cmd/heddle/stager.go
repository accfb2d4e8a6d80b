package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"heddle/nm/ramdisk"
)

// newStager returns the helper that writes files on a NodeManager's RAM disk from its standard input.
func newStager() *cobra.Command {
	return &cobra.Command{
		Use: "stager DIR", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := ramdisk.Helper(os.Stdin, os.Stdout, args[0]); err != nil {
				return fmt.Errorf("stager: %w", err)
			}
			return nil
		},
	}
}
