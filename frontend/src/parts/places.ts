// places are the folders that are searched for models, as people call them.
export const places: Record<string, string> = { hub: 'the Hugging Face cache', lmstudio: 'LM Studio’s folder', ollama: 'Ollama’s store', folder: 'your folder' }
