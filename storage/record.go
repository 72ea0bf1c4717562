package storage

import "tandem/storage/record"

// The records that clients get as they are stored.
type (
	Run             = record.Run
	RunQuery        = record.RunQuery
	RunValues       = record.RunValues
	RunText         = record.RunText
	SeenClient      = record.SeenClient
	Usage           = record.Usage
	Model           = record.Model
	Chat            = record.Chat
	ChatQuery       = record.ChatQuery
	ChatChange      = record.ChatChange
	Message         = record.Message
	MessageChange   = record.MessageChange
	Checkpoint      = record.CheckpointFile
	CheckpointQuery = record.CheckpointQuery
	Response        = record.Response
	Thought         = record.Thought
)
