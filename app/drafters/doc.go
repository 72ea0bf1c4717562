// Package drafters finds, chooses, measures and opens the drafters of models.
//
// A [Drafter] guesses the next tokens of a model, which verifies them. It is another model with the
// same tokens, a head for multi-token prediction, Gemma 4's assistant, or a network that guesses whole
// blocks (DFlash, DSpark). Package engine/draft says how each drafts.
//
// # Which drafter a model has
//
// Each model has a setting for its drafter: a folder, none, or auto, the default. Auto takes the
// first of these:
//
//   - the drafter that is built in, for the pocket model;
//   - the folder drafter inside the model's own folder;
//   - the drafter that is built in, for the starter;
//   - a drafter in the hub's cache named NAME-DFlash2 or NAME-DFlash2-MORE. Any publisher will do. The
//     model is named NAME or NAME-MORE, and the longest NAME wins;
//   - one named so with DFlash, or else with DSpark, in place of DFlash2;
//   - the head for multi-token prediction that the model's own folder brings, in its weights, as
//     mtp.safetensors or as mtp/model.safetensors;
//   - a drafter in the hub's cache named so with MTP or assistant in place of DFlash2;
//   - none.
//
// Auto decides when the model is loaded, by the place alone. Then the drafter's config.json and
// tensors must fit the model. A smaller model that drafts must have the same tokens. A drafter that
// a person names is loaded or refused when it is chosen ([Finder.Check]). If auto finds one that cannot be
// used, the model is served without it, and each answer and run says why.
//
// # Variants
//
// A drafter's files may not say how its weights are used. Then the possible variants are measured once,
// while the model is idle: one text is decoded plainly, and each variant drafts along
// ([Finder.MeasureVariants]). The best [Variant] is stored with its figures, under a key that tells the
// weights and the format of the model. Built-in drafters are not measured.
//
// # The memory of texts
//
// What a client's prompts and answers said is kept as token ids, for the drafter memory
// (client_texts.go; package engine/texts says how). A client is a key. Clients without a key are one.
// No client is drafted from another's texts. The files are in the home folder, and history's Forget
// removes them. While checkpoints are off nothing is remembered.
//
// Which models are in memory, and whether there is room for a drafter, is package pool's to say. A
// [Finder] holds no lock while it reads files or the database.
package drafters
